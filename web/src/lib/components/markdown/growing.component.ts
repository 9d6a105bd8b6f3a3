import { expect, test } from 'vitest';
import { render } from 'vitest-browser-svelte';
import { corpus } from '#lib/markdown/corpus.ts';
import Markdown from './Markdown.svelte';

// The page of a text that came in pieces equals the page of the whole text.
test.each([1, 2, 3, 7, 64])('streamed in steps of %i', async (step) => {
  for (const text of corpus.slice(0, step === 1 ? 4 : corpus.length)) {
    const whole = await render(Markdown, { text });
    const live = await render(Markdown, { text: '', live: true });
    for (let end = step; end < text.length + step; end += step) await live.rerender({ text: text.slice(0, end) });
    await live.rerender({ text, live: false });
    await new Promise((done) => setTimeout(done, 250));
    const plain = (root: Element) => root.querySelector('.md')!.innerHTML.replace(/<!--.*?-->/g, '').replace(/bits-\w+/g, '');
    expect(plain(live.container)).toBe(plain(whole.container));
    await live.unmount();
    await whole.unmount();
  }
});
