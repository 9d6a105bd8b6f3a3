import { beforeAll, expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-svelte';
import { corpus } from '#lib/markdown/corpus.ts';
import Markdown from './Markdown.svelte';
import { settled } from './settled.ts';

const plain = (root: Element) => root.querySelector('.md')!.innerHTML.replace(/<!--.*?-->/g, '').replace(/bits-\w+/g, '');
const whole: string[] = [];

beforeAll(async () => {
  for (const text of corpus) {
    const screen = await render(Markdown, { text });
    await settled(screen.container);
    whole.push(plain(screen.container));
    await screen.unmount();
  }
  // Both of what is drawn late is in the corpus.
  expect(whole.join()).toContain('class="katex"');
  expect(whole.join()).toContain('class="hljs-');
});

// The page of a text that came in pieces equals the page of the whole text.
test.each([1, 2, 3, 7, 64])('streamed in steps of %i', async (step) => {
  for (const [i, text] of corpus.slice(0, step === 1 ? 4 : corpus.length).entries()) {
    const live = await render(Markdown, { text: '', live: true });
    for (let end = step; end < text.length + step; end += step) await live.rerender({ text: text.slice(0, end) });
    await live.rerender({ text, live: false });
    await vi.waitFor(() => expect(plain(live.container)).toBe(whole[i]), { timeout: 60_000, interval: 2 });
    await live.unmount();
  }
});
