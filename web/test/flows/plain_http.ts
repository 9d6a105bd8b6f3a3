// Plain http from another host, as from a phone: what browsers give a page only over https is done without, or its lack is explained.
import assert from 'node:assert/strict';
import { lanHost, served, site } from '../browser.ts';
import { sample } from '../sample.ts';
import { ask, axe, written, type Case, type Flow } from './flow.ts';

const cases: Case[] = [
  ['asking and copying', async (page) => {
    assert.equal(await page.evaluate(() => isSecureContext), false);
    await ask(page, 'Say hello.');
    assert.ok((await written(page)).length > 0);
    await page.getByRole('button', { name: 'Copy', exact: true }).last().click();
    await page.getByRole('region', { name: 'Copied' }).waitFor();
  }],
  ['why this tab has no model', async (page) => {
    await page.getByRole('button', { name: 'This tab' }).click();
    await page.getByText('only over https').waitFor();
    await axe(page, 'this tab cannot');
    await page.keyboard.press('Escape');
  }],
  ['import, kept over a reload', async (page) => {
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Data' }).click();
    const buffer = Buffer.from(sample('m'));
    await page.locator('[role=dialog] input[type=file]').setInputFiles({ name: 'sample.jsonl', mimeType: 'application/jsonl', buffer });
    await page.locator('[role=tabpanel] p', { hasText: '9 chats imported' }).waitFor();
    await page.reload();
    await page.locator('nav a', { hasText: 'SQL window functions' }).waitFor();
  }],
];

export const plainHttp: Flow = {
  name: 'plain http',
  cases,
  site: async ({ puna, model, build }) => {
    const at = await site(puna, ['--model', model, ...served()], build);
    return { ...at, address: at.address.replace('127.0.0.1', lanHost) };
  },
};
