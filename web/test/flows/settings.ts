// Settings that requests depend on: the key of the server, and presets.
import assert from 'node:assert/strict';
import { served, site, type OwnSite } from '../browser.ts';
import { answers, ask, axe, grown, long, newChat, prompt, send, settled, underWay, written, type Case, type Flow } from './flow.ts';

const right = 'the-right-key';
let server: OwnSite;

const cases: Case[] = [
  ['a key that is missing, one that is wrong, and the right one', async (page) => {
    const banner = page.getByRole('status').filter({ hasText: 'The server wants a key' });
    await banner.waitFor({ timeout: long });
    await axe(page, 'a key is wanted');
    const enter = async (key: string) => {
      await banner.getByRole('button', { name: 'Enter a key' }).click();
      const field = page.getByLabel('Key of the server');
      await field.fill(key);
      await field.press('Tab');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    };
    await enter('a wrong one');
    await banner.waitFor({ timeout: long });
    await enter(right);
    await banner.waitFor({ state: 'hidden', timeout: long });
    await ask(page, 'Say hello.');
  }],
  ['a key that is withdrawn, and given again', async (page) => {
    await page.route('**/v1/chat/completions', (route) => route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer withdrawn' } }));
    await send(page, 'And now?');
    const card = page.getByRole('alert').filter({ hasText: 'The server wants a key' });
    await card.getByRole('button', { name: 'Enter a key' }).waitFor({ timeout: long });
    await axe(page, 'a key is refused');
    await page.unroute('**/v1/chat/completions');
    await card.getByRole('button', { name: 'Try again' }).click();
    await card.waitFor({ state: 'hidden', timeout: long });
    await settled(page);
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
    assert.ok(!kept.includes(right), 'the key is not kept where it was not asked for');
  }],
  ['a key that is withdrawn in the middle of an answer', async (page, { weather }) => {
    weather.brake = underWay;
    await page.route(/\/v1\/stream\?/, (route) => route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer withdrawn' } }));
    await newChat(page);
    await send(page, 'Tell me a long story about an island.');
    const article = answers(page).last();
    await grown(page, 10);
    server.sever();
    weather.brake = undefined;
    await article.getByText('The server wants a key. What had come is kept.').waitFor({ timeout: long });
    await article.getByRole('button', { name: 'Enter a key' }).waitFor();
    await axe(page, 'an answer whose key was withdrawn');
    const before = (await written(page)).trim();
    assert.ok(before.length > 0, 'what came is kept');
    await page.unroute(/\/v1\/stream\?/);
    // The rest is still at the server.
    await article.getByRole('button', { name: 'Continue' }).click();
    await grown(page, before.length);
    await settled(page);
    assert.ok((await written(page)).startsWith(before.slice(0, 20)));
    assert.equal(await article.getByText('The server wants a key').count(), 0);
  }],
  ['a server that keeps no conversations says so', async (page) => {
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Data' }).click();
    await page.getByText('it was started without --web-store').waitFor({ timeout: long });
    assert.equal(await page.getByRole('switch').count(), 0);
    await axe(page, 'nothing is kept on the server');
    await page.keyboard.press('Escape');
  }],
  ['a preset: its system message and parameters are in the request, and go again', async (page) => {
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Presets' }).click();
    await page.getByRole('button', { name: 'New preset' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Pirate');
    await page.getByLabel('System message').fill('You are a pirate.');
    await page.getByLabel('Find a parameter').fill('temperature');
    const field = page.getByRole('tabpanel').getByLabel('temperature', { exact: true });
    await field.fill('0.25');
    await field.press('Tab');
    await axe(page, 'a preset');
    await page.keyboard.press('Escape');
    const requests: { temperature?: number; messages: { role: string; content: string }[] }[] = [];
    page.on('request', (request) => request.url().endsWith('/v1/chat/completions') && requests.push(request.postDataJSON()));
    for (const [preset, system, temperature] of [['Pirate', 'You are a pirate.', 0.25], ['No preset', undefined, undefined]] as const) {
      await newChat(page);
      await prompt(page).waitFor();
      await page.keyboard.press('Control+,');
      await page.getByRole('tab', { name: 'Parameters' }).click();
      await page.getByRole('combobox', { name: /^Preset/ }).selectOption({ label: preset });
      await page.keyboard.press('Escape');
      await ask(page, 'Say hello.');
      const sent = requests.at(-1)!;
      assert.equal(sent.messages.find(({ role }) => role === 'system')?.content, system);
      assert.equal(sent.temperature, temperature);
    }
  }],
];

export const settings: Flow = {
  name: 'settings',
  cases,
  site: async ({ puna, model, build }) => (server = await site(puna, ['--model', model, '--api-key', right, ...served()], build)),
};
