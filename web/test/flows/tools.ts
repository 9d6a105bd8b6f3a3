// Calls of tools: what the page asks of its reader, and what the model is told. What the model writes is scripted here, as no tiny model
// calls a calculator by itself; all else is the server's.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { site } from '../browser.ts';
import { answers, axe, long, newChat, send, settled, until, type Case, type Flow } from './flow.ts';

interface Asked {
  tools?: { function: { name: string } }[];
  messages: { role: string; content: string }[];
}
const stream = (deltas: object[], reason: string) =>
  [...deltas.map((delta) => ({ delta, finish_reason: null })), { delta: {}, finish_reason: reason }]
    .map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`)
    .join('') + 'data: [DONE]\n\n';

// Requests for answers, as they come. A question is answered by a call of the calculator, and its result by a sentence with it.
let asked: Asked[] = [];
async function script(page: Page) {
  await page.route('**/v1/chat/completions', (route) => {
    const request = route.request().postDataJSON() as Asked;
    asked.push(request);
    const last = request.messages.at(-1)!;
    const call = { index: 0, id: `call-${asked.length}`, type: 'function', function: { name: 'calculator', arguments: '{"expression": "6 * 7"}' } };
    const body = last.role === 'tool' ? stream([{ content: `It says: ${last.content}` }], 'stop') : stream([{ tool_calls: [call] }], 'tool_calls');
    return route.fulfill({ status: 200, contentType: 'text/event-stream', body });
  });
}
const call = (page: Page) => page.getByRole('region', { name: /calculator/ }).last();
const told = (page: Page, text: string) => answers(page).last().locator('.md', { hasText: text }).waitFor({ timeout: long });

const cases: Case[] = [
  ['a call is permitted once', async (page) => {
    await script(page);
    await page.getByRole('button', { name: 'Tools', exact: true }).click();
    await send(page, 'What is 6 * 7?');
    assert.deepEqual(asked[0]!.tools?.map((tool) => tool.function.name), ['calculator', 'javascript']);
    await call(page).getByText('6 * 7', { exact: true }).waitFor({ timeout: long });
    await axe(page, 'a call that waits');
    assert.equal(asked.length, 1, 'nothing is done before it is permitted');
    await call(page).getByRole('button', { name: 'Allow once' }).press('Enter');
    await told(page, 'It says: 42');
    await settled(page);
    // The button is gone, and what it belonged to has the focus.
    assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), 'Tool: calculator');
    await send(page, 'And again?');
    await call(page).getByRole('button', { name: 'Allow once' }).waitFor({ timeout: long });
  }],
  ['a call is denied', async (page) => {
    await call(page).getByRole('button', { name: 'Deny' }).click();
    await told(page, 'did not allow');
    await settled(page);
    assert.doesNotMatch(asked.at(-1)!.messages.at(-1)!.content, /42/);
  }],
  ['a call that waits while the page is reloaded', async (page) => {
    await send(page, 'And after a reload?');
    await call(page).getByRole('button', { name: 'Allow once' }).waitFor({ timeout: long });
    const before = asked.length;
    await page.reload();
    await answers(page).last().getByRole('button', { name: 'Go on with the tools' }).click();
    await call(page).getByRole('button', { name: 'Allow once' }).click();
    await told(page, 'It says: 42');
    await settled(page);
    assert.equal(asked.length, before + 1);
    assert.equal(await page.getByRole('button', { name: 'Go on with the tools' }).count(), 0);
  }],
  ['in this chat, and in no other', async (page) => {
    await send(page, 'Once more?');
    await call(page).getByRole('button', { name: 'In this chat' }).click();
    await told(page, 'It says: 42');
    await settled(page);
    const before = asked.length;
    await send(page, 'And more?');
    // The reader is not asked: both requests go by themselves.
    await until(() => asked.length === before + 2, 'the result is sent');
    await settled(page);
    await newChat(page);
    await page.getByRole('button', { name: 'Tools', exact: true }).click();
    await send(page, 'In another chat?');
    await call(page).getByRole('button', { name: 'Always' }).click();
    await told(page, 'It says: 42');
    await settled(page);
  }],
  ['always, over a reload, until it is taken back', async (page) => {
    await page.reload();
    const before = asked.length;
    await send(page, 'And now?');
    await until(() => asked.length === before + 2, 'the result is sent');
    await settled(page);
    await page.keyboard.press('Control+,');
    await page.getByRole('dialog').getByRole('button', { name: /calculator/ }).click();
    await page.getByText('None. Each call is asked for.').waitFor();
    await page.keyboard.press('Escape');
    await send(page, 'And then?');
    await call(page).getByRole('button', { name: 'Deny' }).click();
    await told(page, 'did not allow');
    await settled(page);
  }],
];

export const tools: Flow = {
  name: 'tools',
  cases,
  site: ({ puna, model, build }) => {
    asked = [];
    const template = fileURLToPath(new URL('../../../tests/server/tools.jinja', import.meta.url));
    return site(puna, ['--model', model, '--device', 'cpu', '--chat-template-file', template], build);
  },
};
