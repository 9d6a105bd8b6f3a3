// This tab's own model, with the npm package in the page (tools/web/tab.mjs puts it there): from a static host, and then from no host.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fair, serve } from '../serve.ts';
import { answers, ask, axe, hasTab, long, written, type Case, type Flow } from './flow.ts';

const template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

// A GGUF file with a template for chats, which those of the tests have not: one more pair behind the header, of a length that leaves the
// tensors where their alignment wants them.
function withTemplate(file: Buffer): Buffer {
  const header = 24;
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(bytes.length));
    return Buffer.concat([length, bytes]);
  };
  const type = Buffer.from([8, 0, 0, 0]);
  const pair = (padding: string) => Buffer.concat([text('tokenizer.chat_template'), type, text(`{#${padding}#}${template}`)]);
  const short = pair('').length % 32;
  const head = Buffer.from(file.subarray(0, header));
  head.writeBigUInt64LE(head.readBigUInt64LE(16) + 1n, 16);
  return Buffer.concat([head, pair(' '.repeat((32 - short) % 32)), file.subarray(header)]);
}

const cases: Case[] = [
  ['a file that is opened answers', async (page, { model }) => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    const buffer = model.endsWith('llama-q4_0.gguf') ? withTemplate(readFileSync(model)) : readFileSync(model);
    await page.locator('main input[type=file]').setInputFiles({ name: 'tiny.gguf', mimeType: 'application/octet-stream', buffer });
    await page.locator('main li', { hasText: 'tiny' }).getByText('In use').waitFor({ timeout: long });
    await axe(page, 'models of this tab');
    await page.getByRole('link', { name: 'New chat' }).first().click();
    await ask(page, 'Say hello.');
    assert.ok((await written(page)).length > 0);
    assert.equal(await page.getByRole('alert').count(), 0);
  }],
  ['regenerate and branch back', async (page) => {
    await page.getByRole('button', { name: 'Write again' }).last().click();
    await page.getByText('2 / 2').waitFor({ timeout: long });
    await page.getByRole('button', { name: 'Version before' }).click();
    await page.getByText('1 / 2').waitFor();
  }],
  ['reloaded without a network, it answers again', async (page) => {
    // The worker of the site has its files.
    await page.waitForFunction(async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated', undefined, { timeout: long });
    const before = await written(page);
    await page.context().setOffline(true);
    await page.reload();
    await answers(page).last().waitFor({ timeout: long });
    assert.equal(await written(page), before);
    await page.getByRole('link', { name: 'New chat' }).first().click();
    await ask(page, 'Hello without a network.');
    assert.ok((await written(page)).length > 0);
    await page.context().setOffline(false);
  }],
];

export const tab: Flow = {
  name: 'this tab',
  cases,
  lacks: (build) => (hasTab(build) ? '' : 'the build has no engine for the tab'),
  site: async ({ build }) => {
    const at = await serve(build, undefined);
    return { address: at.address, api: '', weather: fair(), end: at.close };
  },
};
