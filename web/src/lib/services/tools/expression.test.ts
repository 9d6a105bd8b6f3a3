import { describe, expect, it } from 'vitest';
import { evaluate, ExpressionError, written } from './expression.ts';

const result = (text: string) => written(evaluate(text));

describe('evaluate', () => {
  it.each([
    ['1 + 2 * 3', '7'],
    ['(1 + 2) * 3', '9'],
    ['2^3^2', '512'],
    ['-2^2', '-4'],
    ['2^-1', '0.5'],
    ['2**10', '1024'],
    ['2 ** 3 * 2', '16'],
    ['--5', '5'],
    ['1 - -1', '2'],
    ['10 % 4', '2'],
    ['-7 % 4', '-3'],
    ['mod(-7, 4)', '1'],
    ['5!', '120'],
    ['3!!', '720'],
    ['2(3 + 4)', '14'],
    ['2pi', '6.28318530717959'],
    ['(1+1)(2+2)', '8'],
    ['0.1 + 0.2', '0.3'],
    ['1e3', '1000'],
    ['2e', '5.43656365691809'],
    ['1_000_000 / 8', '125000'],
    ['0xff + 0b11 + 0o7', '265'],
    ['.5 + 1.', '1.5'],
    ['6 × 7 − 2 ÷ 1', '40'],
    ['sqrt(2)^2', '2'],
    ['log(1000)', '3'],
    ['log(8, 2)', '3'],
    ['ln(e)', '1'],
    ['round(1.005, 2)', '1.01'],
    ['round(-2.5)', '-3'],
    ['round(1234, -2)', '1200'],
    ['root(-27, 3)', '-3'],
    ['max(1, 2, 3) - min(4, 5)', '-1'],
    ['gcd(12, 18) + lcm(4, 6)', '18'],
    ['mean(1, 2, 3, 4)', '2.5'],
    ['SIN(PI)', '1.22464679914735e-16'],
    ['-0', '0'],
    ['2^53 - 1', '9007199254740991'],
    ['2^53', '9.00719925474099e+15'],
    ['123456789 * 987654321', '1.21932631112635e+17'],
    ['1 - 1e-17', '1'],
  ])('%s = %s', (text, expected) => expect(result(text)).toBe(expected));

  it.each([
    '',
    ' ',
    '1 +',
    '1 2',
    '(1',
    '1)',
    '()',
    '1,2',
    'sqrt',
    'sqrt()',
    'sqrt(1, 2)',
    'log(1,2,3)',
    '1 / 0',
    '5 % (3 - 3)',
    'sqrt(-1)',
    'ln(-1)',
    '10^400',
    '171!',
    '2.5!',
    '(-1)!',
    'gcd(1.5, 2)',
    'round(1, 1e9)',
    'foo',
    'foo(1)',
    '1 & 2',
    '1 == 1',
    'x = 1',
    '"a" + "b"',
    '`1`',
    'constructor',
    '__proto__',
    'toString()',
    'hasOwnProperty(1)',
    'constructor.constructor("return 1")()',
    'globalThis.process.exit(1)',
    'this',
    'eval(1)',
    'Function("return 1")()',
    '[].constructor',
    '1; 2',
    '(() => 1)()',
    'import("x")',
    '1//2',
    '1/*2*/',
    '\u0000',
    '1\u2028+',
    '🌴',
  ])('refuses %j with a sentence', (text) => {
    expect(() => evaluate(text)).toThrow(ExpressionError);
    expect(() => evaluate(text)).toThrow(/\.$/);
  });

  it.each([
    ['nesting', '('.repeat(400) + '1' + ')'.repeat(400)],
    ['powers', '2^'.repeat(400) + '1'],
    ['calls', 'abs('.repeat(200) + '1' + ')'.repeat(200)],
    ['length', '1+'.repeat(600) + '1'],
  ])('bounds %s', (_, text) => expect(() => evaluate(text)).toThrow(ExpressionError));

  it('takes many signs, factors and terms without growing the stack', () => {
    expect(result('-'.repeat(998) + '1')).toBe('1');
    expect(result('1' + '+1'.repeat(499))).toBe('500');
    expect(result('(1)'.repeat(333))).toBe('1');
  });
});
