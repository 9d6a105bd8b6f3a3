// A sound in a chat with a model that hears: played, counted, sent as it is, answered, kept; and a picture that it does not take.
import assert from 'node:assert/strict';
import type { Request } from 'playwright-core';
import { png, wav } from '../files.ts';
import { hearingSite } from '../seeing.ts';
import { answers, axe, long, prompt, send, settled, written, type Case, type Flow } from './flow.ts';

const tone = wav(0.5); // the tiny encoder knows no longer one
const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer });
const chats = (request: Request) => new URL(request.url()).pathname === '/v1/chat/completions';
const bodyOf = (request: Request) => JSON.parse(request.postData() ?? '{}') as { messages: { content: unknown }[] };
interface Counted {
  usage?: { prompt_tokens: number; prompt_tokens_details?: { cached_tokens?: number } };
}

const cases: Case[] = [
  ['a sound is played, counted, sent to the byte, and answered', async (page, { api }) => {
    await page.locator('footer input[type=file]').setInputFiles(file('tone.wav', tone));
    const shown = page.locator('footer audio[aria-label="tone.wav"]');
    await shown.waitFor();
    const tokens = page.locator('footer').getByText(/, [1-9]\d* tokens$/);
    await tokens.waitFor({ timeout: long });
    const nTokens = parseInt(/(\d+) tokens/.exec((await tokens.textContent()) ?? '')?.[1] ?? '', 10);
    assert.equal(await shown.evaluate((audio: HTMLAudioElement) => new Promise((done) => (audio.readyState > 0 ? done(audio.duration) : (audio.onloadedmetadata = () => done(audio.duration))))), 0.5);
    await axe(page, 'a sound in the draft');
    const [request] = await Promise.all([page.waitForRequest(chats, { timeout: long }), send(page, 'What is heard?')]);
    await answers(page).last().waitFor({ timeout: long });
    await settled(page);
    const { messages } = bodyOf(request);
    assert.deepEqual(messages.at(-1)!.content, [
      { type: 'input_audio', input_audio: { data: tone.toString('base64'), format: 'wav' } },
      { type: 'text', text: 'What is heard?' },
    ]);
    assert.ok((await written(page)).length > 0);
    assert.equal(await page.getByRole('alert').count(), 0);
    // What was shown beside the file is what the model reads of it.
    const count = async (content: unknown) => {
      const reply = await fetch(new URL('/v1/chat/completions', api), { method: 'POST', body: JSON.stringify({ messages: [{ role: 'user', content }], max_tokens: 1 }) });
      return ((await reply.json()) as Counted).usage!.prompt_tokens;
    };
    assert.equal((await count(messages.at(-1)!.content)) - (await count('What is heard?')), nTokens);
  }],
  ['it goes with the next question, and is there after a reload', async (page) => {
    await page.reload();
    await page.locator('article audio[aria-label="tone.wav"]').waitFor({ timeout: long });
    const [request] = await Promise.all([page.waitForRequest(chats, { timeout: long }), send(page, 'And how long?')]);
    await page.waitForFunction(() => document.querySelectorAll('article[aria-label^="Answer of"]').length === 2, null, { timeout: long });
    await settled(page);
    const parts = bodyOf(request).messages.flatMap(({ content }) => (Array.isArray(content) ? (content as { type: string }[]) : []));
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal(parts.filter(({ type }) => type === 'input_audio').length, 1);
  }],
  ['a picture is refused where the model sees none', async (page) => {
    await page.locator('footer input[type=file]').setInputFiles(file('stripes.png', png(20, 20)));
    await page.getByText(/reads no images/).waitFor({ timeout: long });
    await prompt(page).fill('What is this?');
    assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
  }],
];

export const sounds: Flow = { name: 'sounds', cases, site: ({ puna, build }) => hearingSite(puna, build) };
