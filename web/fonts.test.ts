import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { onlyWoff2 } from './fonts.ts';

test("KaTeX's style names each font once, as WOFF2", () => {
  const css = onlyWoff2(readFileSync(new URL('node_modules/katex/dist/katex.css', import.meta.url), 'utf8'));
  const named = [...css.matchAll(/url\(([^)]*)\)/g)].map(([, url]) => url!);
  expect(named.length).toBe(css.split('@font-face').length - 1);
  expect(named.filter((url) => !url.endsWith('.woff2'))).toEqual([]);
});
