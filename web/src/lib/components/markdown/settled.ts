// When a text in the page is as it will stay: its formulas are drawn and its code is coloured. For tests, which wait for this and for
// no time.
import { vi } from 'vitest';
import { highlight } from '#lib/markdown/highlight.ts';
import '#lib/markdown/math.ts';

// A formula that is drawn has something in its element, and code that can be coloured has spans.
const drawn = (root: Element) => [...root.querySelectorAll('[data-math]')].every((node) => node.childNodes.length > 0);
const coloured = (root: Element) =>
  [...root.querySelectorAll('figure')].every((figure) => {
    const [language, code] = [figure.querySelector('figcaption > span')!.textContent ?? '', figure.querySelector('code')];
    const wanted = highlight(code?.textContent ?? '', language).filter((span) => span.class).length;
    return !code || code.querySelectorAll('span').length === wanted;
  });

export const settled = (root: Element): Promise<void> =>
  vi.waitFor(
    () => {
      if (!drawn(root)) throw new Error('A formula is not drawn.');
      if (!coloured(root)) throw new Error('Code has not its colours.');
    },
    { timeout: 60_000, interval: 2 },
  );
