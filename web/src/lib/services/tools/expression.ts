// Arithmetic, as on a calculator: read by recursive descent and worked out on the way. Nothing is ever run as code.
//
//   sum     = product (("+" | "-") product)*
//   product = sign (("*" | "/" | "%" | nothing before "(" or a name) sign)*      "%" is the rest of a division
//   sign    = ("+" | "-") sign | power
//   power   = postfix ("^" sign)?                                               to the right: 2^3^2 = 2^9; -2^2 = -4
//   postfix = atom "!"*
//   atom    = number | constant | function "(" sum ("," sum)* ")" | "(" sum ")"

const MAX_CHARACTERS = 1_000;
const MAX_DEPTH = 64;

export class ExpressionError extends Error {}

const CONSTANTS = new Map([
  ['pi', Math.PI],
  ['π', Math.PI],
  ['e', Math.E],
  ['tau', 2 * Math.PI],
]);

interface Function {
  least: number;
  most: number;
  of: (...values: number[]) => number;
}

const one = (of: (x: number) => number): Function => ({ least: 1, most: 1, of });
const many = (of: (...values: number[]) => number): Function => ({ least: 1, most: 100, of });

const FUNCTIONS = new Map<string, Function>([
  ...(
    [
      'sqrt',
      'cbrt',
      'abs',
      'floor',
      'ceil',
      'trunc',
      'sign',
      'exp',
      'sin',
      'cos',
      'tan',
      'asin',
      'acos',
      'atan',
    ] as const
  ).map((name): [string, Function] => [name, one(Math[name])]),
  ...(['sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'log2', 'log10'] as const).map((name): [string, Function] => [
    name,
    one(Math[name]),
  ]),
  ['ln', one(Math.log)],
  // Of a number, or of a number to a base.
  ['log', { least: 1, most: 2, of: (x, base) => (base === undefined ? Math.log10(x) : Math.log(x) / Math.log(base)) }],
  ['round', { least: 1, most: 2, of: round }],
  ['pow', { least: 2, most: 2, of: Math.pow }],
  ['mod', { least: 2, most: 2, of: (a, b) => a - b * Math.floor(a / b) }],
  ['root', { least: 2, most: 2, of: (x, n) => (x < 0 && Math.abs(n % 2) === 1 ? -((-x) ** (1 / n)) : x ** (1 / n)) }],
  ['min', many(Math.min)],
  ['max', many(Math.max)],
  ['sum', many((...values) => values.reduce((a, b) => a + b, 0))],
  ['mean', many((...values) => values.reduce((a, b) => a + b, 0) / values.length)],
  ['gcd', many((...values) => values.map(whole).reduce(gcd))],
  [
    'lcm',
    many((...values) => values.map(whole).reduce((a, b) => (a === 0 || b === 0 ? 0 : Math.abs(a * b) / gcd(a, b)))),
  ],
  ['factorial', one(factorial)],
]);

// Half away from zero, in decimals as they are written: 1.005 to 2 places is 1.01.
function round(x: number, places = 0): number {
  if (!Number.isInteger(places) || Math.abs(places) > 100)
    throw new ExpressionError('round() takes whole places from -100 to 100.');
  const shifted = shift(Math.abs(x), places);
  return Math.sign(x) * shift(Math.round(shifted), -places);
}

function shift(x: number, places: number): number {
  const [digits, exponent = '0'] = String(x).split('e');
  return Number(`${digits}e${Number(exponent) + places}`);
}

function whole(x: number): number {
  if (!Number.isSafeInteger(x)) throw new ExpressionError(`${x} is no whole number that can be held exactly.`);
  return x;
}

function gcd(a: number, b: number): number {
  [a, b] = [Math.abs(a), Math.abs(b)];
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

function factorial(x: number): number {
  if (!Number.isInteger(x) || x < 0) throw new ExpressionError(`${x} has no factorial; whole numbers from 0 on have.`);
  if (x > 170) throw new ExpressionError(`The factorial of ${x} is too large; 170 is the most.`);
  let product = 1;
  for (let i = 2; i <= x; ++i) product *= i;
  return product;
}

// Other signs that people and models write.
const SIGNS: Record<string, string> = { '−': '-', '–': '-', '×': '*', '·': '*', '÷': '/', '∙': '*' };

class Reader {
  #at = 0;
  #depth = 0;

  constructor(private readonly text: string) {}

  whole(): number {
    const value = this.#sum();
    if (this.#peek() !== '') throw this.#unexpected();
    return value;
  }

  #sum(): number {
    if (++this.#depth > MAX_DEPTH) throw new ExpressionError(`The expression is nested more than ${MAX_DEPTH} deep.`);
    let value = this.#product();
    for (;;) {
      if (this.#take('+')) value += this.#product();
      else if (this.#take('-')) value -= this.#product();
      else break;
    }
    --this.#depth;
    return value;
  }

  #product(): number {
    let value = this.#sign();
    for (;;) {
      if (this.#take('*')) value *= this.#sign();
      else if (this.#take('/')) value /= this.#divisor();
      else if (this.#take('%')) value %= this.#divisor();
      else if (this.#peek() === '(' || /[\p{L}]/u.test(this.#peek())) value *= this.#power();
      else return value;
    }
  }

  #divisor(): number {
    const value = this.#sign();
    if (value === 0) throw new ExpressionError('Division by zero.');
    return value;
  }

  #sign(): number {
    let negative = false;
    for (;;) {
      if (this.#take('-')) negative = !negative;
      else if (!this.#take('+')) break;
    }
    const value = this.#power();
    return negative ? -value : value;
  }

  #power(): number {
    const base = this.#postfix();
    if (!this.#take('^')) return base;
    // As deep as there are signs to the right.
    if (++this.#depth > MAX_DEPTH) throw new ExpressionError(`The expression is nested more than ${MAX_DEPTH} deep.`);
    const exponent = this.#sign();
    --this.#depth;
    return base ** exponent;
  }

  #postfix(): number {
    let value = this.#atom();
    while (this.#take('!')) value = factorial(value);
    return value;
  }

  #atom(): number {
    if (this.#take('(')) {
      const value = this.#sum();
      this.#expect(')');
      return value;
    }
    const number = this.#match(/(?:0x[0-9a-f]+|0b[01]+|0o[0-7]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)/iy);
    if (number !== undefined) return Number(number.replaceAll('_', ''));
    const name = this.#match(/[\p{L}][\p{L}\p{N}]*/uy)?.toLowerCase();
    if (name === undefined) throw this.#unexpected();
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return constant;
    const called = FUNCTIONS.get(name);
    if (!called)
      throw new ExpressionError(
        `There is no "${name}"; there are ${[...CONSTANTS.keys(), ...FUNCTIONS.keys()].join(', ')}.`,
      );
    return this.#call(name, called);
  }

  #call(name: string, { least, most, of }: Function): number {
    this.#expect('(');
    const values: number[] = [];
    if (this.#peek() !== ')') {
      do values.push(this.#sum());
      while (this.#take(','));
    }
    this.#expect(')');
    if (values.length < least || values.length > most) {
      throw new ExpressionError(
        `${name}() takes ${least === most ? least : `${least} to ${most}`} numbers, but was given ${values.length}.`,
      );
    }
    return of(...values);
  }

  #peek(): string {
    this.#match(/\s+/y);
    const character = String.fromCodePoint(this.text.codePointAt(this.#at) ?? 0);
    return this.#at < this.text.length ? character : '';
  }

  #take(sign: string): boolean {
    const next = this.#peek();
    if ((SIGNS[next] ?? next) !== sign) {
      // Programs write powers so.
      if (sign !== '^' || !this.text.startsWith('**', this.#at)) return false;
      this.#at += 2;
      return true;
    }
    if (sign === '*' && this.text.startsWith('**', this.#at)) return false;
    this.#at += next.length;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#unexpected(sign);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #unexpected(wanted = 'a number'): ExpressionError {
    const found = this.#peek();
    const place = `at character ${this.#at + 1}`;
    const what = found === '' ? 'The expression ends' : `"${found}" stands ${place}`;
    return new ExpressionError(`${what} where ${wanted === 'a number' ? wanted : `"${wanted}"`} is expected.`);
  }
}

// Errors: ExpressionError, a sentence.
export function evaluate(text: string): number {
  if (text.length > MAX_CHARACTERS)
    throw new ExpressionError(`The expression has ${text.length} characters; ${MAX_CHARACTERS} are the most.`);
  const value = new Reader(text).whole();
  if (Number.isNaN(value)) throw new ExpressionError('The result is no real number.');
  if (!Number.isFinite(value)) throw new ExpressionError('The result is too large.');
  return value;
}

// With the digits that a double has for sure, so that 0.1 + 0.2 is 0.3; of whole numbers too large for that, with an
// exponent, so that nobody takes the digits behind for known.
export function written(value: number): string {
  if (Number.isSafeInteger(value)) return String(value === 0 ? 0 : value);
  const rounded = Number(value.toPrecision(15));
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? rounded.toExponential() : String(rounded);
}
