// Texts that would harm their reader, wherever a text can come from: imported as titles, questions, answers, thoughts, names of files and
// models, calls of tools and their results, languages of code. Nothing of them becomes an element that text does not become, none runs,
// and (as in all flows) none has anything fetched or offends the policy.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { formulas } from '../../src/lib/components/markdown/formulas.ts';
import { hostile } from '../../src/lib/components/markdown/hostile.ts';
import { answers, long, prompt, type Case, type Flow } from './flow.ts';

const line = (value: object) => JSON.stringify(value);
const oneLine = (text: string) => text.replace(/\s+/g, ' ');

// A chat in which everything is this text.
function chatOf(text: string, index: number): string {
  const convId = `hostile-${index}`;
  const time = 1_764_000_000_000 + index;
  const message = (id: string, parent: string | null, rest: object) =>
    line({ type: 'message', message: { id: `${convId}-${id}`, convId, type: 'text', timestamp: time, parent: parent === null ? null : `${convId}-${parent}`, children: [], ...rest } });
  const call = { id: 'call', type: 'function', function: { name: text, arguments: line({ expression: text }) } };
  return [
    line({ harness: 'llama.app', type: 'session', id: convId, name: text, lastModified: time, currNode: `${convId}-end` }),
    message('root', null, { type: 'root', role: 'system', content: '' }),
    message('asked', 'root', { role: 'user', content: text, extra: [{ type: 'TEXT', name: text, content: text }] }),
    message('called', 'asked', { role: 'assistant', content: text, reasoningContent: text, model: text, toolCalls: [call] }),
    message('result', 'called', { role: 'tool', content: text, toolCallId: 'call' }),
    message('end', 'result', { role: 'assistant', content: `~~~${oneLine(text)}\ncode\n~~~\n\nThe end.`, model: text }),
  ].join('\n');
}

// What the page itself consists of, what Markdown becomes, and what KaTeX draws, in `.katex` alone.
const own = 'main nav header footer aside section article search form label input textarea button select option a div span p h1 h2 h3 h4 h5 h6 ul ol li kbd progress svg path rect circle line polyline polygon ellipse';
const markdown = 'strong em del code br blockquote table thead tbody tr th td hr pre figure figcaption mark b';
const drawn = 'semantics annotation mrow mi mo mn mtext mspace mfrac msup msub msubsup msqrt mroot mstyle mtable mtr mtd munder mover munderover merror mpadded mphantom menclose math mglyph';

// What there is that should not be.
const strange = (page: Page) =>
  page.evaluate(
    ([known, inMath]) => {
      const found: string[] = [];
      const told = (element: Element) => element.outerHTML.slice(0, 120);
      if ('pwned' in window) found.push('it ran');
      for (const element of document.querySelectorAll('body *')) {
        const name = element.localName;
        // The page's own scripts stand directly in it.
        if (name === 'script' && element.closest('body > div, body') === element.parentElement && !element.closest('.shell')) continue;
        if (!known!.includes(name) && !(element.closest('.katex') && inMath!.includes(name)) && !element.closest('body > div#svelte-announcer')) found.push(told(element));
        for (const attribute of element.attributes) if (/^(on|srcset$|srcdoc$|formaction$|action$|src$|data$)/.test(attribute.name)) found.push(`${attribute.name}: ${told(element)}`);
        if (element instanceof HTMLAnchorElement && !['http:', 'https:', 'mailto:'].includes(element.protocol)) found.push(`leads to ${element.protocol}: ${told(element)}`);
      }
      return found;
    },
    [`${own} ${markdown}`.split(' '), drawn.split(' ')],
  );

// Formulas too: they are drawn by a library of which the policy forbids a part.
const texts = [...hostile, ...formulas.map((text) => `$$${text}$$`)];

// Opened: one of twelve, all with ALL=1; each is also a test of components (src/lib/components/markdown/).
const share = process.env['ALL'] ? 1 : 12;

const cases: Case[] = [
  ['as an import, and as titles', async (page) => {
    await page.evaluate(() => localStorage.setItem('puna.settings', JSON.stringify({ language: 'en', showThinking: true })));
    await page.reload();
    await prompt(page).waitFor();
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Data' }).click();
    const files = texts.map((text, i) => ({ name: `${text.slice(0, 200)}.jsonl`, mimeType: 'application/jsonl', buffer: Buffer.from(chatOf(text, i)) }));
    const bad = { name: '<img src=x onerror="window.pwned=1">.json', mimeType: 'application/json', buffer: Buffer.from('{"<script>window.pwned=1</script>": "<svg onload=window.pwned=1>"}') };
    await page.locator('[role=dialog] input[type=file]').setInputFiles([...files, bad]);
    await page.locator('[role=tabpanel] p', { hasText: `${texts.length} chats imported` }).waitFor({ timeout: long });
    await page.locator('[role=tabpanel]').getByText('Not all could be taken').waitFor();
    assert.deepEqual(await strange(page), []);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('nav li').count(), texts.length);
    assert.deepEqual(await strange(page), []);
  }],
  ['as whatever a chat consists of', async (page, { faults }) => {
    assert.ok(hostile.length >= 60, `${hostile.length} texts`);
    for (let index = 0; index < texts.length; index += share) {
      await page.evaluate((id) => (location.hash = `#/chat/${id}`), `hostile-${index}`);
      await page.locator(`[data-message="hostile-${index}-end"]`).getByText('The end.').waitFor({ timeout: long });
      for (const call of await page.locator('article section > button[aria-expanded=false]').all()) await call.click();
      await page.locator('article pre.toolbox').nth(1).waitFor();
      assert.equal(await answers(page).count(), 2);
      assert.deepEqual([...(await strange(page)), ...faults], [], `text ${index}: ${texts[index]!.slice(0, 100)}`);
    }
  }],
  ['as hits of a search', async (page) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('pwned');
    await page.locator('[role=option] mark').first().waitFor({ timeout: long });
    assert.deepEqual(await strange(page), []);
    await page.keyboard.press('Escape');
  }],
];

export const hostileTexts: Flow = { name: 'hostile texts', cases };
