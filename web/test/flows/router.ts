// The models of a router: `puna serve --models-dir`.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { served, site } from '../browser.ts';
import { slowHub, type Hub } from '../hub.ts';
import { answers, ask, axe, grown, long, newChat, prompt, send, settled, underWay, until, written, type Case, type Flow } from './flow.ts';

let hub: Hub;
const row = (page: Page, name: string) => page.locator('main li', { has: page.getByRole('heading', { name, exact: true }) });
const press = (page: Page, model: string, button: string) => row(page, model).getByRole('button', { name: button, exact: true }).click();
const can = (page: Page, model: string, button: string) => row(page, model).getByRole('button', { name: button, exact: true }).waitFor({ timeout: long });
const states = async (api: string) => {
  const { data } = (await (await fetch(`${api}/v1/models`)).json()) as { data: { id: string; status: { value: string } }[] };
  return data.map(({ id, status }) => `${id} ${status.value}`).sort().join(', ');
};
const cases: Case[] = [
  ['two models loaded', async (page, { api }) => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    for (const name of ['one', 'two']) {
      await press(page, name, 'Load');
      await can(page, name, 'Unload');
    }
    assert.equal(await states(api), 'one loaded, two loaded');
    await axe(page, 'models of a router');
  }],
  ['switched between two answers', async (page) => {
    // The first that is here is used until one chooses.
    await row(page, 'one').getByRole('button', { name: 'In use' }).waitFor();
    await newChat(page);
    await ask(page, 'Say hello.');
    await page.getByRole('article', { name: 'Answer of one' }).waitFor();
    await page.keyboard.press('Control+m');
    await page.locator('[data-model=two]').click();
    await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#prompt')?.placeholder.includes('two'));
    await page.getByRole('button', { name: 'Write again' }).last().click();
    await page.getByRole('article', { name: 'Answer of two' }).waitFor({ timeout: long });
    await page.getByRole('button', { name: 'Version before' }).click();
    await page.getByRole('article', { name: 'Answer of one' }).waitFor();
    assert.equal(await answers(page).count(), 1);
  }],
  ['unloaded, and loaded by asking', async (page, { api }) => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    for (const name of ['one', 'two']) await press(page, name, 'Unload');
    for (const name of ['one', 'two']) await can(page, name, 'Load');
    assert.equal(await states(api), 'one unloaded, two unloaded');
    await newChat(page);
    await ask(page, 'Say hello.');
    await page.getByRole('article', { name: 'Answer of two' }).waitFor();
    assert.equal(await states(api), 'one unloaded, two loaded');
  }],
  ['unloaded while it writes', async (page, { api, weather }) => {
    await newChat(page);
    weather.brake = underWay;
    await send(page, 'Tell me a long story about an island.');
    await grown(page, 10);
    const model = await page.evaluate(() => document.querySelector('article[aria-label^="Answer of"]')!.getAttribute('aria-label')!.slice('Answer of '.length));
    await fetch(`${api}/models/unload`, { method: 'POST', body: JSON.stringify({ model }) });
    weather.brake = undefined;
    await settled(page);
    const text = await written(page);
    assert.ok(text.length > 10, 'what came is kept');
    // The rest works on: the next question loads it again.
    await newChat(page);
    await ask(page, 'And hello.');
    assert.ok((await written(page)).length > 0);
    assert.equal(await page.getByRole('alert').count(), 0);
  }],
  ['a download is cancelled', async (page) => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    // The registry of this test speaks plain http, which the server asks only where the request says so.
    await page.route('**/api/pull', (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), insecure: true }) }));
    const address = page.getByRole('textbox', { name: 'Address of a model (Server)' });
    await address.fill(hub.name);
    await page.getByRole('button', { name: 'Download', exact: true }).first().click();
    await until(() => hub.open > 0, 'a download has begun');
    const progress = page.locator('main li', { has: page.locator('progress') });
    await progress.getByText(/of 67 MB|of 64 M/).waitFor({ timeout: long });
    await progress.getByRole('button', { name: 'Cancel', exact: true }).click();
    await progress.waitFor({ state: 'hidden' });
    await until(() => hub.open === 0, 'the server has ended it');
    // The rest goes on.
    await newChat(page);
    await prompt(page).waitFor();
    await ask(page, 'And hello again.');
  }],
];

export const router: Flow = {
  name: 'router',
  cases,
  site: async ({ puna, model, build }) => {
    const folder = mkdtempSync(join(tmpdir(), 'puna-router-'));
    mkdirSync(join(folder, 'models'));
    for (const name of ['one', 'two']) copyFileSync(model, join(folder, 'models', `${name}.gguf`));
    hub = await slowHub();
    const at = await site(puna, ['--models-dir', join(folder, 'models'), ...served()], build, { PUNA_HOME: join(folder, 'home') });
    const end = () => {
      at.end();
      hub.end();
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    };
    return { ...at, end };
  },
};
