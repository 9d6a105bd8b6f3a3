import type { Token } from 'marked';
import { describe, expect, test } from 'vitest';
import { corpus } from './corpus.ts';
import { GrowingMarkdown, readAll } from './growing.ts';
import { lex, maxDepth } from './lexer.ts';

const shape = (text: string, blocks = readAll(text)) => JSON.stringify(blocks);

describe('a text that grows reads at every step as the whole of it', () => {
  const all = corpus.join('\n\n');
  for (const [i, text] of corpus.entries()) {
    test(`text ${i}, every prefix`, () => {
      const growing = new GrowingMarkdown();
      for (let end = 1; end <= text.length; end++) {
        const prefix = text.slice(0, end);
        expect(shape(prefix, growing.read(prefix)), JSON.stringify(prefix)).toBe(shape(prefix));
      }
    });
  }
  test.each([2, 3, 5, 7, 16, 64, 1000])('all texts, steps of %i', (step) => {
    const growing = new GrowingMarkdown();
    let last = growing.read('');
    for (let end = step; end < all.length + step; end += step) last = growing.read(all.slice(0, end));
    expect(shape(all, last)).toBe(shape(all));
  });
  test('each text, in steps of every size', () => {
    for (const text of corpus) {
      const whole = shape(text);
      for (let step = 1; step <= text.length; step++) {
        const growing = new GrowingMarkdown();
        let last = growing.read('');
        for (let end = step; end < text.length + step; end += step) last = growing.read(text.slice(0, end));
        expect(shape(text, last), `${JSON.stringify(text)} in steps of ${step}`).toBe(whole);
      }
    }
  });
  test('a text that is another one is read anew', () => {
    const growing = new GrowingMarkdown();
    growing.read(corpus[2]!);
    expect(shape(corpus[4]!, growing.read(corpus[4]!))).toBe(shape(corpus[4]!));
  });
});

test('only the tail is read again', () => {
  const growing = new GrowingMarkdown();
  const text = 'A paragraph.\n\n'.repeat(200);
  const before = growing.read(text);
  const after = growing.read(`${text}More.`);
  expect(after[100]!.token).toBe(before[100]!.token);
});

test('nesting ends at its bound', () => {
  const depth = (tokens: Token[]): number =>
    Math.max(0, ...tokens.map((token) => 1 + Math.max(depth(('tokens' in token && token.tokens) || []), depth(('items' in token && token.items) || []))));
  for (const text of ['>'.repeat(800), '- '.repeat(400), '*_'.repeat(400), '['.repeat(500), '**a '.repeat(500)]) {
    // A list and its item count twice.
    expect(depth(lex(text).tokens)).toBeLessThanOrEqual(2 * maxDepth + 3);
  }
});

const math = (text: string) => {
  const found: string[] = [];
  const walk = (tokens: Token[]) => {
    for (const token of tokens) {
      if (token.type === 'math' || token.type === 'inlineMath') found.push((token as unknown as { text: string }).text);
      if ('tokens' in token && token.tokens) walk(token.tokens);
    }
  };
  walk(lex(text).tokens);
  return found;
};

test.each([
  ['$5 and $7', []],
  ['$x+1$', ['x+1']],
  ['$ x $', []],
  ['$x$2', []],
  ['`$x$`', []],
  ['$HOME and `$PATH`', []],
  ['a $2x$ b', ['2x']],
  ['\\$x\\$', []],
  ['\\(a\\) and \\[b\\]', ['a', 'b']],
  ['$$\nx\n$$', ['x']],
  ['$$\nx\n\ny\n$$', []],
  ['**$a$**', ['a']],
])('math of %j', (text, expected) => expect(math(text)).toEqual(expected));
