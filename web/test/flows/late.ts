// A server that is slow to tell of its models, before a page whose tab could run one.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { shown, window } from '../browser.ts';
import { scripted, type Scripted } from '../scripted.ts';
import { fair, serve } from '../serve.ts';
import { answers, long, prompt, settled, until, type Case, type Flow, type Stage } from './flow.ts';

let server: Scripted;

// In the place of the npm package: it has one model, which would have to be downloaded, and remembers that it was told to.
const tabPackage = `
  const storage = { opfs: true, cache: true, indexeddb: true, usedBytes: 0, quotaBytes: 2 ** 33 };
  globalThis.loads = [];
  export const Puna = {
    capabilities: async () => ({ secureContext: true, gpu: null, simd: true, threads: 1, storage }),
    models: { catalogue: [{ name: 'of-this-tab', family: 'llama', fileType: 'Q4_0', bytes: 1000, sha256: 'ab' }], list: async () => [] },
    load: (source) => (globalThis.loads.push(source), new Promise(() => undefined)),
  };`;

async function firstVisit(stage: Stage, run: (page: Page) => Promise<void>) {
  // A service worker would give the page's own package.
  const context = await stage.browser.newContext({ ...window, serviceWorkers: 'block' });
  await context.route('**/puna/index.js', (route) => route.fulfill({ contentType: 'text/javascript', body: tabPackage }));
  const { page, faults } = await shown(context, stage.address);
  await run(page);
  stage.faults.push(...faults);
  await context.close();
}

async function answered(page: Page, text: string, asked: number) {
  await until(() => server.asked.length === asked, 'the server is asked for an answer');
  server.say(text);
  server.finish();
  await answers(page).last().getByText(text).waitFor({ timeout: long });
  await settled(page);
}

const askedBefore = (path: string): Case => [
  `a question is asked before ${path} has answered`,
  async (_page, stage) => {
    let tell!: () => void;
    stage.weather.late = { path, until: new Promise((done) => (tell = done)) };
    await firstVisit(stage, async (page) => {
      server.asked.length = 0;
      // The tab has told of its model.
      await page.getByRole('radio', { name: 'This tab' }).waitFor({ timeout: long });
      await prompt(page).fill('Who is there?');
      await prompt(page).press('Enter');
      await page.evaluate(async () => {
        for (let i = 0; i < 20; i++) await new Promise(requestAnimationFrame);
      });
      assert.equal(await prompt(page).inputValue(), 'Who is there?', 'it waits');
      tell();
      await answered(page, 'The server.', 1);
      await page.getByRole('button', { name: 'Write again' }).last().click();
      await answered(page, 'The server, again.', 2);
      assert.deepEqual(server.asked, ['one', 'one']);
      assert.deepEqual(await page.evaluate(() => (globalThis as unknown as { loads: string[] }).loads), [], 'nothing is downloaded');
    });
  },
];

export const late: Flow = {
  name: 'late',
  cases: ['/props', '/v1/models'].map(askedBefore),
  site: async ({ build }) => {
    server = await scripted('one');
    const weather = fair();
    const at = await serve(build, server.api, weather);
    return { address: at.address, api: server.api, weather, end: () => (at.close(), server.end()) };
  },
};
