// Models that have something in common: their name, their file's name, or all of it, as one that is fetched anew.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { shown, window } from '../browser.ts';
import { scripted, type Scripted } from '../scripted.ts';
import { fair, serve } from '../serve.ts';
import { answers, axe, long, send, settled, until, type Case, type Flow, type Stage } from './flow.ts';

let server: Scripted;
const hub = (type: string) => `hf.co/owner/Llama-3.2-1B-Instruct-GGUF:${type}`;
const listed = (id: string, value: string) => ({ id, status: { value }, can_remove: true });

// In the place of the npm package: one file name of two repositories, and what was deleted.
const at = (owner: string) => `https://huggingface.co/${owner}/Some-GGUF/resolve/main/Some-1B-Q4_K_M.gguf`;
const tabPackage = `
  const storage = { opfs: true, cache: true, indexeddb: true, usedBytes: 0, quotaBytes: 2 ** 33 };
  let stored = ${JSON.stringify(['one', 'two'].map(at))};
  globalThis.deleted = [];
  export const Puna = {
    capabilities: async () => ({ secureContext: true, gpu: null, simd: true, threads: 1, storage }),
    models: {
      catalogue: [],
      list: async () => stored.map((id) => ({ name: 'Some-1B-Q4_K_M.gguf', id, bytes: 10, totalBytes: 10, complete: true, mmproj: null, encoder: false })),
      delete: async (id) => { globalThis.deleted.push(id); stored = stored.filter((each) => each !== id); return 1; },
    },
  };`;

async function visit(stage: Stage, run: (page: Page) => Promise<void>) {
  // A service worker would give the page's own package.
  const context = await stage.browser.newContext({ ...window, serviceWorkers: 'block' });
  await context.route('**/puna/index.js', (route) => route.fulfill({ contentType: 'text/javascript', body: tabPackage }));
  const { page, faults } = await shown(context, stage.address);
  await page.getByRole('radio', { name: 'This tab' }).waitFor({ timeout: long });
  await run(page);
  stage.faults.push(...faults);
  await context.close();
}
const models = (page: Page) => page.getByRole('link', { name: 'Models', exact: true }).click();
const inTab = (page: Page) => page.getByRole('region', { name: 'In this tab' }).locator('li');
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim());

const cases: Case[] = [
  ['an answer can be written again by each', (_, stage) =>
    visit(stage, async (page) => {
      await send(page, 'Who is there?');
      await until(() => server.asked.length === 1, 'the server is asked');
      server.say('The first.');
      server.finish();
      await settled(page);
      await answers(page).last().getByRole('button', { name: 'More' }).click();
      const items = page.getByRole('menuitem', { name: /^Write again with/ });
      await items.first().waitFor();
      const names = (await items.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
      assert.deepEqual(names, [
        'Write again with Llama 3.2 1B Instruct Q4_K_M',
        'Write again with Llama 3.2 1B Instruct Q8_0',
        'Write again with Some 1B hf:one/Some-GGUF/Some-1B-Q4_K_M.gguf',
        'Write again with Some 1B hf:two/Some-GGUF/Some-1B-Q4_K_M.gguf',
      ]);
      await axe(page, 'models of one name in a menu');
      await items.nth(1).click();
      await until(() => server.asked.length === 2, 'the server is asked again');
      assert.equal(server.asked[1], hub('Q8_0'));
      server.say('The second.');
      server.finish();
      await settled(page);
    })],
  ['two files of one name are listed, chosen and deleted each for itself', (_, stage) =>
    visit(stage, async (page) => {
      await page.keyboard.press('Control+m');
      await page.locator('[data-model="hf:two/Some-GGUF/Some-1B-Q4_K_M.gguf"]').getByText('hf:two/').waitFor();
      assert.equal(await page.locator('[data-model^="hf:"]').count(), 2);
      await page.keyboard.press('Escape');
      await models(page);
      await inTab(page).nth(1).waitFor();
      assert.equal(await inTab(page).count(), 2);
      const two = inTab(page).filter({ hasText: 'hf:two/' });
      await two.getByRole('button', { name: 'Delete files' }).press('Enter');
      await until(async () => (await focused(page)) === 'Cancel', 'what does no harm has the focus');
      await page.keyboard.press('Enter');
      await until(async () => (await focused(page)) === 'Delete files', 'the question is taken back, with the focus');
      await page.keyboard.press('Enter');
      await two.getByRole('button', { name: 'Delete files' }).press('Enter');
      await two.waitFor({ state: 'hidden' });
      await until(() => page.evaluate(() => document.activeElement?.id === 'transcript'), 'the page has the focus of what is gone');
      assert.deepEqual(await page.evaluate(() => (globalThis as unknown as { deleted: string[] }).deleted), [at('two')]);
      await inTab(page).filter({ hasText: 'hf:one/' }).waitFor();
    })],
  ['one that is there is fetched anew', (_, stage) =>
    visit(stage, async (page) => {
      let end!: () => void;
      const pulled = new Promise<void>((done) => (end = done));
      await page.route('**/api/pull', async (route) => {
        await pulled;
        await route.fulfill({ body: '{"status":"success"}\n' });
      });
      await models(page);
      const rows = page.getByRole('region', { name: 'On the server' }).locator('li', { hasText: 'tiny:latest' });
      await rows.getByText('Ready').waitFor();
      await page.getByRole('textbox', { name: 'Address of a model (Server)' }).fill('tiny:latest');
      await page.keyboard.press('Enter');
      await rows.locator('progress').waitFor();
      assert.equal(await rows.count(), 1);
      end();
      await rows.getByText('Ready').waitFor({ timeout: long });
    })],
];

export const alike: Flow = {
  name: 'alike',
  cases,
  site: async ({ build }) => {
    const data = [listed('tiny:latest', 'loaded'), listed(hub('Q4_K_M'), 'unloaded'), listed(hub('Q8_0'), 'unloaded')];
    const props = { role: 'router', default_generation_settings: { n_ctx: 4_096, params: {} }, chat_template_caps: {} };
    server = await scripted('tiny:latest', { '/props': props, '/v1/models': { object: 'list', data }, '/models/load': { success: true } });
    const weather = fair();
    const page = await serve(build, server.api, weather);
    return { address: page.address, api: server.api, weather, end: () => (page.close(), server.end()) };
  },
};
