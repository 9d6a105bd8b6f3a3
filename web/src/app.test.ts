// Contrast of the tokens in app.css, each text on each surface (WCAG 2.2, 1.4.3 and 1.4.11).
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const css = readFileSync(new URL('app.css', import.meta.url), 'utf8');
const tokensOf = (selector: string): Record<string, string> => {
  const block = css.split(`\n${selector} {`)[1]!.split('\n}')[0]!;
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]));
};
const surfaces = ['page', 'sunken', 'raised', 'bubble', 'hover', 'tint', 'gold-tint', 'danger-tint'];
const texts = ['ink', 'soft', 'accent', 'gold', 'danger', 'good', 'h-key', 'h-str', 'h-num', 'h-com', 'h-fn', 'h-type'];
// On `ink`: notices; on `accent`: the main button.
const others = [['page', 'ink'], ['on-accent', 'accent']] as const;
// What bounds a control.
const edges = ['edge', 'accent'];

function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

test('contrast is that of the examples of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2);
});

describe.each([':root', "[data-theme='dark']"])('%s', (selector) => {
  const tokens = tokensOf(selector);
  const pairs = (names: string[]) => names.flatMap((name) => surfaces.map((surface) => [name, surface] as const));
  const low = (all: readonly (readonly [string, string])[], least: number) =>
    all.filter(([one, on]) => !(contrast(tokens[one]!, tokens[on]!) >= least)).map(([one, on]) => `${one} on ${on}: ${contrast(tokens[one]!, tokens[on]!).toFixed(2)}`);

  test('each text can be read on each surface', () => expect(low([...pairs(texts), ...others], 4.5)).toEqual([]));
  test('each control can be told from each surface', () => expect(low(pairs(edges), 3)).toEqual([]));
  test('no token is left out', () => {
    const known = [...surfaces, ...texts, ...edges, ...others.flat(), 'line'];
    expect(Object.keys(tokens).filter((name) => !known.includes(name))).toEqual([]);
  });
});
