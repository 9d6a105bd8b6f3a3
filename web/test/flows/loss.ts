// What must not be lost: drafts and answers when the browser is killed, the tab is frozen, the connection breaks again and again, the server
// is silent or begins anew, and when two tabs show the same. FREEZE_S is for how long the tab is frozen (2; longer than the 75 s behind which
// silence is a loss: 90). QUIET_S is for how long the server says nothing (2; a slow prompt: 60; a loss: 100).
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, type Page } from 'playwright-core';
import { chromiumPath, served, shown, site, type OwnSite } from '../browser.ts';
import { answers, grown, long, prompt, send, settled, underWay, written, type Case, type Flow, type Stage } from './flow.ts';

// A browser that can be killed: a process of ours, with a profile that stays.
async function browserOf(profile: string): Promise<{ process: ChildProcess; endpoint: string }> {
  const flags = ['--headless=new', '--no-sandbox', '--remote-debugging-port=0', '--no-first-run', '--lang=en-GB', '--window-size=1280,800'];
  const process = spawn(chromiumPath, [...flags, `--user-data-dir=${profile}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const endpoint = await new Promise<string>((done, failed) => {
    let seen = '';
    process.stderr!.on('data', (data: Buffer) => {
      seen += data;
      const found = /ws:\/\/\S+/.exec(seen);
      if (found) done(found[0]);
    });
    process.on('exit', () => failed(new Error(`Chromium ended: ${seen}`)));
  });
  return { process, endpoint };
}

// Does something in a browser, kills it (signal 9), and looks in a new one with the same profile.
async function overDeath(stage: Stage, before: (page: Page) => Promise<void>, after: (page: Page) => Promise<void>) {
  const profile = mkdtempSync(join(tmpdir(), 'puna-profile-'));
  try {
    for (const act of [before, after]) {
      const { process, endpoint } = await browserOf(profile);
      const ended = new Promise((done) => process.once('exit', done));
      try {
        const browser = await chromium.connectOverCDP(endpoint);
        const { page, faults } = await shown(browser.contexts()[0]!, stage.address);
        await act(page);
        stage.faults.push(...faults);
      } finally {
        process.kill('SIGKILL');
        await ended;
      }
    }
  } finally {
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    } catch {
      // Children of a browser that was killed may go on writing; what they leave is the system's to clear.
    }
  }
}

const idOf = async (page: Page) => (await answers(page).last().getAttribute('data-message'))!;
// What the server wrote, in one piece.
async function kept({ api }: Stage, id: string): Promise<string> {
  const response = await fetch(`${api}/v1/stream?conv_id=${id}&from=0`);
  assert.equal(response.status, 200);
  const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: {'));
  return events.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? '').join('');
}
// As the page has saved it.
const saved = (page: Page, id: string) =>
  page.evaluate(
    (wanted) =>
      new Promise<string>((done, failed) => {
        const asked = indexedDB.open('puna');
        asked.onerror = () => failed(asked.error);
        asked.onsuccess = () => {
          const row = asked.result.transaction('messages').objectStore('messages').get(wanted);
          row.onsuccess = () => (asked.result.close(), done(row.result?.content ?? ''));
        };
      }),
    id,
  );
// Characters of the answer, which is the same each time.
let whole = 0;
async function isWhole(page: Page, stage: Stage, id: string) {
  await settled(page);
  const text = await kept(stage, id);
  assert.ok(text.length > 100, `the answer is long enough to show something: ${text.length}`);
  assert.equal(await saved(page, id), text);
  whole = text.length;
}
const drafts = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<string[]>((done, failed) => {
        const asked = indexedDB.open('puna');
        asked.onerror = () => failed(asked.error);
        asked.onsuccess = () => {
          const rows = asked.result.transaction('drafts').objectStore('drafts').getAll();
          rows.onsuccess = () => (asked.result.close(), done(rows.result.map((row: { text: string }) => row.text)));
        };
      }),
  );
// `state`: what there is instead, where it does not come to that.
async function until(right: () => Promise<boolean>, state: () => Promise<string>) {
  for (const end = Date.now() + long; Date.now() < end; await sleep(20)) if (await right()) return;
  assert.fail(`It did not come to that: ${await state()}`);
}
const question = 'Tell me a story about an island, with ünïcödé.';
let server: OwnSite;
const alarms = (page: Page) => page.locator('[role=alert], .banner, article .text-gold, article .text-danger').allInnerTexts();

const cases: Case[] = [
  ['the browser is killed while one types', async (_page, stage) => {
    const [kept, more] = ['A draft with a second line,\nand umlauts: äöü 🌴', ' and words that were never saved'];
    let address = '';
    await overDeath(
      stage,
      async (page) => {
        await send(page, question);
        await settled(page);
        address = page.url();
        await page.locator('article[aria-label="Your message"]').hover();
        await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
        await page.getByRole('textbox', { name: 'Edit the message' }).fill('An edit that was open');
        await prompt(page).fill(kept);
        await until(async () => [kept, 'An edit that was open'].every(((there) => (one) => there.includes(one))(await drafts(page))), async () => JSON.stringify(await drafts(page)));
        await prompt(page).pressSequentially(more);
      },
      async (page) => {
        await page.goto(address);
        await page.waitForFunction((text) => document.querySelector<HTMLTextAreaElement>('#prompt')?.value.startsWith(text), kept);
        await page.locator('article[aria-label="Your message"]').hover();
        await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
        await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('article textarea')?.value === 'An edit that was open');
      },
    );
  }],
  ['the browser is killed while an answer comes', async (_page, stage) => {
    let [address, id] = ['', ''];
    stage.weather.brake = underWay;
    await overDeath(
      stage,
      async (page) => {
        await send(page, question);
        await grown(page, 10);
        [address, id] = [page.url(), await idOf(page)];
        await until(async () => (await saved(page, id)).length > 0, async () => 'nothing of the answer is saved');
      },
      async (page) => {
        stage.weather.brake = undefined;
        await page.goto(address);
        await answers(page).last().waitFor();
        await isWhole(page, stage, id);
      },
    );
  }],
  ['the tab is frozen while an answer comes', async (page, stage) => {
    await page.goto(stage.address);
    Object.assign(stage.weather, { brake: underWay, pace: 8_000 });
    await send(page, question);
    await grown(page, 10);
    const id = await idOf(page);
    const tools = await page.context().newCDPSession(page);
    await tools.send('Page.setWebLifecycleState', { state: 'frozen' });
    stage.weather.brake = undefined;
    await sleep(Number(process.env['FREEZE_S'] ?? 2) * 1_000);
    await tools.send('Page.setWebLifecycleState', { state: 'active' });
    stage.weather.pace = 0;
    await isWhole(page, stage, id);
  }],
  ['20 cuts in one answer', async (page, stage) => {
    await page.goto(stage.address);
    let cuts = 0;
    // From a fixed seed, so that a failure can be had again.
    let seed = 20_260_731;
    stage.weather.cut = () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return cuts++ < 20 ? 1 + (seed % 900) : undefined;
    };
    // Each loss waits for half a second or for this.
    await page.evaluate(() => void setInterval(() => dispatchEvent(new Event('online')), 20));
    await send(page, question);

    await until(async () => cuts > 20, async () => `${cuts} cuts, and the page has ${(await page.locator('main').innerText()).slice(-600)}`);
    await isWhole(page, stage, await idOf(page));
    await page.reload();
  }],
  ['the server says nothing for a while', async (page, stage) => {
    await page.goto(stage.address);
    const quiet = Number(process.env['QUIET_S'] ?? 2) * 1_000;
    await prompt(page).fill(question);
    await page.locator('form button[aria-label=Send]:enabled').waitFor({ timeout: long });
    server.pause();
    try {
      await prompt(page).press('Enter');
      await answers(page).last().waitFor({ timeout: long });
      const told: string[] = [];
      for (const end = Date.now() + quiet; Date.now() < end; await sleep(200)) told.push(...(await alarms(page)));
      // Longer silence than any server's is a loss, and is told; no shorter one is.
      assert.equal(told.length > 0, quiet > 75_000, told[0] ?? 'nothing was told');
      if (quiet > 75_000) assert.match(told.at(-1)!, /connection is gone/);
    } finally {
      server.resume();
    }
    await isWhole(page, stage, await idOf(page));
    assert.deepEqual(await page.locator('[role=alert], .banner').allInnerTexts(), []);
  }],
  ['the server begins anew in the middle of an answer', async (page, stage) => {
    await page.goto(stage.address);
    stage.weather.brake = underWay;
    await send(page, question);
    await grown(page, 10);
    await server.restart();
    stage.weather.brake = undefined;
    // It has nothing of it; what came is kept and goes on.
    await answers(page).last().getByText('What had come is kept.').waitFor({ timeout: long });
    await settled(page);
    const before = await written(page);
    assert.ok(before.length > 10);
    await answers(page).last().getByRole('button', { name: 'Continue' }).click();
    await grown(page, before.length + 10);
    await settled(page);
    assert.ok((await written(page)).startsWith(before.trim().slice(0, 20)), 'the text before is kept');
    assert.deepEqual(await page.locator('[role=alert]').allInnerTexts(), []);
  }],
  ['two tabs see one state, and one stops what the other writes', async (page, stage) => {
    await page.goto(stage.address);
    stage.weather.brake = underWay;
    await send(page, question);
    const { page: other, faults } = await shown(page.context(), page.url());
    await answers(other).last().waitFor();
    await grown(page, 10);
    const id = await idOf(page);
    await other.getByRole('button', { name: /^Stop/ }).click();
    await Promise.all([settled(page), settled(other)]);
    assert.ok((await saved(page, id)).length < whole, 'it was stopped before its end');
    assert.equal(await written(other), await written(page));
    stage.weather.brake = undefined;
    await prompt(other).fill('typed in the other');
    await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#prompt')?.value === 'typed in the other');
    await prompt(page).fill('');
    await page.keyboard.press('Control+Shift+d');
    await other.getByRole('heading', { name: 'This chat is not here' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await other.locator('nav li').first().waitFor();
    stage.faults.push(...faults);
    await other.close();
  }],
];

export const loss: Flow = {
  name: 'loss',
  cases,
  site: async ({ puna, model, build }) => (server = await site(puna, ['--model', model, ...served()], build)),
};
