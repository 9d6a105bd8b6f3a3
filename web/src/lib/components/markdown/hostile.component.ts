import { expect, test } from 'vitest';
import { render } from 'vitest-browser-svelte';
import { hostile } from './hostile.ts';
import Markdown from './Markdown.svelte';
import { settled } from './settled.ts';

const html = 'div p span a strong em del code br ul ol li blockquote table thead tbody tr th td hr pre figure figcaption button h3 h4 h5 h6 input svg path rect circle line polyline';
// What KaTeX draws, in `.katex` alone.
const drawn = 'semantics mrow mi mo mn mtext annotation mspace mfrac msup msub msubsup msqrt mroot mstyle mtable mtr mtd munder mover munderover merror mpadded mphantom menclose math mglyph';
const allowed = new Set(html.split(' '));
const inMath = new Set([...drawn.split(' '), 'span', 'svg', 'path', 'line']);

// Of all texts together: an entry comes when its request has failed, which may be long after the text has gone.
const foreign: string[] = [];
const asked = 'https://foreign.invalid/asked';
new PerformanceObserver((list) => foreign.push(...list.getEntries().map((entry) => entry.name).filter((name) => !name.startsWith(location.origin)))).observe({
  type: 'resource',
});
test.each(hostile.map((text, i) => [i, text] as const))('hostile text %i stays text', async (_, text) => {
  const screen = await render(Markdown, { text });
  await settled(screen.container);
  for (const element of screen.container.querySelectorAll('*')) {
    const name = element.localName;
    expect(allowed.has(name) || (element.closest('.katex') && inMath.has(name)), element.outerHTML.slice(0, 200)).toBeTruthy();
    for (const { name: attribute } of element.attributes) expect(attribute).not.toMatch(/^(on|src|srcset|srcdoc|formaction|action)/);
    if (element instanceof HTMLAnchorElement) {
      expect(['http:', 'https:', 'mailto:']).toContain(element.protocol);
      expect(element.rel).toBe('noopener noreferrer nofollow');
    }
    if (element instanceof HTMLInputElement) expect(element.disabled).toBe(true);
  }
  expect(screen.container.querySelector('.md')!.childNodes.length).toBeGreaterThan(0);
  expect((window as { pwned?: number }).pwned).toBeUndefined();
  await screen.unmount();
});

test('a link whose text names another host shows its own', async () => {
  const screen = await render(Markdown, { text: '[bank.example](https://evil.example/login)' });
  expect(screen.container.textContent).toContain('(evil.example)');
});

test('an image of another host is a link', async () => {
  const screen = await render(Markdown, { text: '![photo](https://evil.example/p.png)' });
  expect(screen.container.querySelector('img')).toBeNull();
  expect(screen.container.querySelector('a')?.href).toBe('https://evil.example/p.png');
});

// One that is asked for last is told last, and shows that the others would have been.
test('no text had anything fetched from elsewhere', async () => {
  await fetch(asked, { mode: 'no-cors' }).catch(() => undefined);
  await expect.poll(() => foreign, { timeout: 60_000 }).toContain(asked);
  expect(foreign).toEqual([asked]);
});
