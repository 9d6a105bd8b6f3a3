import { expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-svelte';
// What colours is not imported here: it has to be on its way.
import Markdown from './Markdown.svelte';

test('code that goes before its colours have come leaves nothing behind', async () => {
  const text = '```js\nlet a = 1;\n```';
  const [gone, stays] = [await render(Markdown, { text }), await render(Markdown, { text })];
  // Its timer has run out, and what colours it is being loaded.
  await new Promise((done) => setTimeout(done));
  await gone.rerender({ text: 'No code any more.' });
  await vi.waitFor(() => expect(stays.container.querySelector('.hljs-keyword')?.textContent).toBe('let'), { timeout: 60_000 });
});
