// Two devices, each a browser of its own, before a server with --web-store: what is done on one is on the other.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { open, served, site } from '../browser.ts';
import { png } from '../files.ts';
import { ask, axe, long, prompt, settled, until, written, type Case, type Flow } from './flow.ts';

const name = 'Keep conversations on this server';
const panel = (page: Page) => page.getByRole('tabpanel');

async function keep(page: Page) {
  await page.keyboard.press('Control+,');
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.getByRole('switch', { name }).click();
  await panel(page).getByText('Synchronised:').waitFor({ timeout: long });
}
// As when the reader comes back to it: it asks at once.
const seen = (page: Page) => page.evaluate(() => void document.dispatchEvent(new Event('visibilitychange')));
// Until the server has all that was changed: nothing stands in the table of what it was not told.
const told = (page: Page) =>
  until(
    () =>
      page.evaluate(
        () =>
          new Promise<boolean>((done, failed) => {
            const asked = indexedDB.open('puna');
            asked.onerror = () => failed(asked.error);
            asked.onsuccess = () => {
              const count = asked.result.transaction('unsent').objectStore('unsent').count();
              count.onsuccess = () => (asked.result.close(), done(count.result === 0));
            };
          }),
      ),
    'the server was told of all',
  );
const chats = (page: Page) => page.locator('nav li');

// The other device, in all cases the same.
let other: Page;
let faults: string[];

const cases: Case[] = [
  ['a chat of one is on the other', async (page, stage) => {
    await ask(page, 'Say hello from the first.');
    await keep(page);
    await axe(page, 'kept on the server');
    await page.keyboard.press('Escape');
    ({ page: other, faults } = await open(stage));
    await keep(other);
    await other.keyboard.press('Escape');
    await other.locator('nav a', { hasText: 'Say hello from the first.' }).click();
    assert.equal(await written(other), await written(page));
  }],
  ['what the other writes in it is on the one, as a branch beside its own', async (page) => {
    await other.getByRole('button', { name: 'Write again' }).last().click();
    await other.getByText('2 / 2').waitFor({ timeout: long });
    await settled(other);
    await told(other);
    await seen(page);
    await page.getByText('2 / 2').waitFor({ timeout: long });
    assert.equal(await written(page), await written(other));
  }],
  ['a title that changes on either', async (page) => {
    for (const [at, to, title] of [[page, other, 'Of the first'], [other, page, 'Of the second']] as const) {
      const row = at.locator('nav li', { has: at.locator('a[aria-current=page]') });
      await row.hover();
      await row.getByRole('button').click();
      await at.getByRole('menuitem', { name: 'Rename' }).click();
      await at.getByRole('textbox', { name: 'Name of the chat' }).fill(title);
      await at.keyboard.press('Enter');
      await told(at);
      await seen(to);
      await to.locator('nav a', { hasText: title }).waitFor({ timeout: long });
    }
  }],
  ['a picture and a text that messages name', async (page) => {
    const picture = `data:image/png;base64,${png(40, 30).toString('base64')}`;
    const convId = 'pictures';
    const message = (rest: object) => JSON.stringify({ type: 'message', message: { convId, type: 'text', timestamp: 1_764_000_000_000, children: [], ...rest } });
    const extra = [{ type: 'IMAGE', name: 'stripes.png', base64Url: picture }, { type: 'TEXT', name: 'notes.txt', content: 'ichu' }];
    const lines = [
      JSON.stringify({ harness: 'llama.app', type: 'session', id: convId, name: 'With a picture', lastModified: 1_764_000_000_000, currNode: 'looked' }),
      message({ id: 'top', type: 'root', role: 'system', content: '', parent: null, children: ['looked'] }),
      message({ id: 'looked', role: 'user', content: 'Look at this.', parent: 'top', extra }),
    ];
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Data' }).click();
    const file = { name: 'chat.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(lines.join('\n')) };
    await page.locator('[role=dialog] input[type=file]').setInputFiles(file);
    await panel(page).getByText('1 chat imported').waitFor();
    await page.keyboard.press('Escape');
    await told(page);
    await seen(other);
    await other.locator('nav a', { hasText: 'With a picture' }).click();
    await other.getByText('notes.txt').waitFor();
    const shown = other.locator('article img').first();
    await shown.waitFor({ timeout: long });
    await until(() => shown.evaluate((image) => (image as HTMLImageElement).naturalWidth === 40), 'the picture is shown');
  }],
  ['what the first writes while the server is away, when it is back', async (page, { weather }) => {
    weather.away = true;
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Presets' }).click();
    await page.getByRole('button', { name: 'New preset' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Offline');
    await page.getByLabel('Name', { exact: true }).press('Tab');
    await page.getByRole('tab', { name: 'Data' }).click();
    await panel(page).getByText('The server does not answer.').waitFor({ timeout: long });
    await panel(page).getByText(/to be sent/).waitFor({ timeout: long });
    weather.away = false;
    await panel(page).getByRole('button', { name: 'Try again' }).click();
    await told(page);
    await panel(page).getByText('The server does not answer.').waitFor({ state: 'hidden', timeout: long });
    await page.keyboard.press('Escape');
  }],
  ['a deletion, of what is open there too, and its undo', async (page) => {
    await other.locator('nav a', { hasText: 'Of the second' }).click();
    await prompt(other).waitFor();
    const before = await chats(page).count();
    await page.locator('nav a', { hasText: 'Of the second' }).click();
    await page.waitForURL(/#\/chat\//);
    await page.keyboard.press('Control+Shift+d');
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await told(page);
    await seen(other);
    await other.getByRole('heading', { name: 'This chat is not here' }).waitFor({ timeout: long });
    assert.equal(await chats(other).count(), before - 1);
    await page.getByRole('button', { name: 'Undo' }).click();
    await told(page);
    await seen(other);
    await other.locator('article', { hasText: 'Say hello from the first.' }).waitFor({ timeout: long });
    assert.equal(await chats(other).count(), before);
  }],
  ['switched off, nothing is sent any more', async (page, stage) => {
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Data' }).click();
    await page.getByRole('switch', { name }).click();
    await panel(page).getByText('Synchronised:').waitFor({ state: 'hidden' });
    await page.keyboard.press('Escape');
    const sent: string[] = [];
    page.on('request', (request) => request.url().includes('/web-store') && sent.push(request.url()));
    const count = await chats(page).count();
    await page.keyboard.press('Control+Shift+d');
    await page.waitForFunction((wanted) => document.querySelectorAll('nav li').length === wanted, count - 1);
    await seen(page);
    await seen(other);
    await other.keyboard.press('Control+,');
    await other.getByRole('tab', { name: 'Data' }).click();
    await panel(other).getByText('Synchronised:').waitFor();
    assert.equal(await chats(other).count(), count);
    assert.deepEqual(sent, []);
    await other.keyboard.press('Escape');
  }],
  ['switched on again, what was deleted meanwhile is deleted on both', async (page, stage) => {
    const count = await chats(page).count();
    await keep(page);
    await page.keyboard.press('Escape');
    assert.equal(await chats(page).count(), count);
    await told(page);
    await seen(other);
    await until(async () => (await chats(other).count()) === count, 'it is gone on the other');
    stage.faults.push(...faults);
    await other.context().close();
  }],
];

export const devices: Flow = {
  name: 'devices',
  cases,
  site: async ({ puna, model, build }) => {
    const folder = mkdtempSync(join(tmpdir(), 'puna-web-store-'));
    const at = await site(puna, ['--model', model, '--web-store', join(folder, 'conversations.sqlite'), ...served()], build);
    return { ...at, end: () => (at.end(), rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })) };
  },
};
