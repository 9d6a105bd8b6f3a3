// This tab's own model, with the npm package in the page (tools/web/tab.mjs puts it there): from a static host, from no host, and through
// all that a chat before a server is tried with.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { png } from '../files.ts';
import { seeingEncoder, seeingModel } from '../seeing.ts';
import { withTemplate } from '../../../bindings/js/test/support/with_template.mjs';
import { fair, serve } from '../serve.ts';
import { chat } from './chat.ts';
import { answers, ask, axe, hasTab, isTiny, long, newChat, written, type Case, type Flow } from './flow.ts';

// Nothing between a tab and its own model slows it down.
const tooQuick = ({ model }: { model: string }) => (isTiny(model) ? 'a tiny model has written all it can before a hand could stop it' : '');

const cases: Case[] = [
  ['a file that is opened answers', async (page, { model }) => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    const name = basename(model);
    const tiny = () => ({ name, mimeType: 'application/octet-stream', buffer: withTemplate(readFileSync(model)) });
    await page.locator('main input[type=file]').setInputFiles(isTiny(model) ? tiny() : model);
    await page.locator('main li', { hasText: name }).getByText('In use').waitFor({ timeout: long });
    await axe(page, 'models of this tab');
    await newChat(page);
    await ask(page, 'Say hello.');
    assert.ok((await written(page)).length > 0);
    assert.equal(await page.getByRole('alert').count(), 0);
  }],
  ['reloaded without a network, it answers again', async (page) => {
    // The worker of the site has its files.
    await page.waitForFunction(async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated', undefined, { timeout: long });
    const before = await written(page);
    await page.context().setOffline(true);
    await page.reload();
    await answers(page).last().waitFor({ timeout: long });
    assert.equal(await written(page), before);
    await newChat(page);
    await ask(page, 'Hello without a network.');
    assert.ok((await written(page)).length > 0);
    await page.context().setOffline(false);
  }],
  ['a new chat', newChat],
  ...chat.cases.map(([name, run]): Case => (name.startsWith('stop') ? [name, run, tooQuick] : [name, run])),
  ['opened with its encoder, it sees', async (page) => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer });
    await page.locator('main input[type=file]').setInputFiles([
      file('mmproj-seeing.gguf', seeingEncoder()),
      file('seeing.gguf', seeingModel()),
    ]);
    const row = page.locator('main li', { hasText: 'seeing.gguf' });
    await row.getByText('In use').waitFor({ timeout: long });
    await row.getByText('images').waitFor({ timeout: long });
    await newChat(page);
    await page.locator('footer input[type=file]').setInputFiles(file('stripes.png', png(48, 32)));
    await page.locator('footer').getByText('25 tokens').waitFor({ timeout: long });
    await ask(page, 'What is this?');
    assert.ok((await written(page)).length > 0);
    assert.equal(await page.getByRole('alert').count(), 0);
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
