// The view of a chat follows what is written, until its reader scrolls.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { session } from '../sample.ts';
import { scripted, type Scripted } from '../scripted.ts';
import { fair, serve } from '../serve.ts';
import { answers, grown, long, newChat, send, settled, until, type Case, type Flow } from './flow.ts';

let server: Scripted;

// Much text, with parts whose heights are not those of lines.
const words = 'An answer has words, and its rows are as high as their words make them, which nobody knows before they are laid out. ';
const piece = `${words.repeat(4)}\n\n\`\`\`js\n${'let x = 1;\n'.repeat(10)}\`\`\`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`;
const much = piece.repeat(Math.ceil(30_000 / piece.length));

// So many messages of uneven heights, as a file to be imported.
const chatOf = (name: string, count: number) =>
  session(
    name,
    Date.now(),
    'one',
    Array.from({ length: count }, (_, i) => ({ role: i % 2 ? ('assistant' as const) : ('user' as const), content: i % 2 ? words.repeat(1 + ((i * 7) % 23)) : `Question ${i}` })),
  );

const atEnd = (page: Page) =>
  page.waitForFunction(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.querySelector('#transcript')!;
    return scrollHeight - scrollTop - clientHeight < 2;
  });
const latest = (page: Page) => page.getByRole('button', { name: 'Latest' });
const frames = (page: Page, count: number) =>
  page.evaluate(async (left) => {
    for (; left > 0; left--) await new Promise(requestAnimationFrame);
  }, count);

// The next answer comes whole, and in the worst moment: when the rows turn out to be less high than was thought and the view has been moved
// up for that, before it is told so.
const answerAtOnce = (page: Page, text: string) =>
  page.evaluate((content) => {
    const { fetch } = window;
    window.fetch = async (input, init) => {
      if (!String(input).endsWith('v1/chat/completions')) return fetch(input, init);
      window.fetch = fetch;
      const event = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
      const whole = event({ delta: { content }, finish_reason: null }) + event({ delta: {}, finish_reason: 'stop' }) + 'data: [DONE]\n\n';
      const body = new ReadableStream({
        start(stream) {
          const end = () => {
            shrinks.disconnect();
            cancelAnimationFrame(frame);
            stream.enqueue(new TextEncoder().encode(whole));
            stream.close();
          };
          const scroller = document.querySelector('#transcript')!;
          let top = scroller.scrollTop;
          const shrinks = new ResizeObserver(() => {
            if (scroller.scrollTop < top) end();
            top = scroller.scrollTop;
          });
          shrinks.observe(scroller.querySelector('[role=feed] > *')!);
          // Where it has not moved.
          let [frame, left] = [0, 60];
          const next = () => void (left-- > 0 ? (frame = requestAnimationFrame(next)) : end());
          next();
        },
      });
      return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
    };
  }, text);

const cases: Case[] = [
  ['an answer of which 30 kB come at once, in a chat of 300 messages', async (page) => {
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Data' }).click();
    const buffer = Buffer.from(chatOf('A long chat', 300));
    await page.locator('[role=dialog] input[type=file]').setInputFiles({ name: 'long.jsonl', mimeType: 'application/jsonl', buffer });
    await page.locator('[role=tabpanel] p', { hasText: 'imported' }).waitFor({ timeout: long });
    await page.keyboard.press('Escape');
    await page.locator('nav a', { hasText: 'A long chat' }).click();
    await answers(page).last().waitFor({ timeout: long });
    await atEnd(page);
    for (let i = 0; i < 3; i++) {
      await answerAtOnce(page, `${much}This is end ${i}.`);
      await send(page, 'And more of it?');
      await answers(page).last().getByText(`This is end ${i}.`).waitFor({ timeout: long });
      await settled(page);
      await atEnd(page);
      await frames(page, 10);
      assert.equal(await latest(page).count(), 0, 'the view follows');
    }
  }],
  ['who scrolls up is left there, and taken along again from the end', async (page) => {
    await newChat(page);
    await send(page, 'Tell me much.');
    await until(() => server.asked.length === 1, 'an answer is asked for');
    server.say(much);
    await grown(page, 10_000);
    await atEnd(page);
    await page.locator('#transcript').hover();
    await page.mouse.wheel(0, -700);
    await latest(page).waitFor({ timeout: long });
    server.say('A word more. '.repeat(200));
    await page.getByText('A word more.').first().waitFor({ timeout: long });
    await frames(page, 10);
    assert.ok(await latest(page).isVisible(), 'the view stays where its reader has scrolled');
    await latest(page).click();
    await atEnd(page);
    server.say(`\n\n${much}`);
    server.finish();
    await settled(page);
    await atEnd(page);
    // By keys, as well.
    await page.locator('#transcript').focus();
    await page.keyboard.press('PageUp');
    await latest(page).waitFor({ timeout: long });
    // A question of one's own brings the view to its end.
    await send(page, 'And what else?');
    await until(() => server.asked.length === 2, 'another one is asked for');
    server.say(much);
    server.finish();
    await settled(page);
    await atEnd(page);
  }],
  ['the end stays in sight where the view becomes less high', async (page) => {
    await atEnd(page);
    await page.setViewportSize({ width: 1280, height: 500 });
    await atEnd(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await atEnd(page);
  }],
];

export const following: Flow = {
  name: 'following',
  cases,
  site: async ({ build }) => {
    server = await scripted('one');
    const weather = fair();
    const at = await serve(build, server.api, weather);
    return { address: at.address, api: server.api, weather, end: () => (at.close(), server.end()) };
  },
};
