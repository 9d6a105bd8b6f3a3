// Whole flows of the page: `node test/page.e2e.ts PUNA MODEL [BUILD]`. Exit code 1: one of them failed. ONLY and WITHOUT choose by a part
// of a name: a tiny model of 256 tokens has written all it can before it can be stopped.
import assert from 'node:assert/strict';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { bench, open } from './browser.ts';

const [puna, model, build = 'build'] = process.argv.slice(2);
if (!puna || !model) throw new Error('Usage: node test/page.e2e.ts PUNA MODEL [BUILD]');
const long = 180_000;
const all = await bench(puna, model, build);

const answers = (page: Page) => page.getByRole('article', { name: /^Answer of/ });
const settled = (page: Page) => page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: long });
async function ask(page: Page, text: string, wait = true) {
  await page.locator('#prompt').fill(text);
  const send = page.getByRole('button', { name: 'Send', exact: true });
  await send.waitFor();
  await page.waitForFunction(() => !document.querySelector<HTMLButtonElement>('form button[aria-label=Send]')?.disabled, undefined, { timeout: long });
  await page.locator('#prompt').press('Enter');
  await page.locator('#prompt:placeholder-shown').waitFor({ timeout: long });
  await answers(page).last().waitFor({ timeout: long });
  if (wait) await settled(page);
}
const menu = async (page: Page, button: string, item: string) => {
  await page.getByRole('button', { name: button, exact: true }).last().click();
  await page.getByRole('menuitem', { name: item }).click();
};
async function axe(page: Page, where: string) {
  const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']).analyze();
  assert.deepEqual(violations.map((one) => `${where}: ${one.id}: ${one.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(' | ')}`), []);
}
const cases: [string, (page: Page) => Promise<void>][] = [
  ['first visit to first answer', async (page) => {
    await ask(page, 'Say hello in one short sentence.');
    assert.match(page.url(), /#\/chat\//);
    assert.ok(((await answers(page).last().locator('.md').textContent()) ?? '').length > 0);
    assert.ok(await page.locator('nav a[aria-current=page]').isVisible());
  }],
  ['regenerate, siblings and back', async (page) => {
    await page.getByRole('button', { name: 'Write again' }).last().click();
    await page.getByText('2 / 2').waitFor({ timeout: long });
    await settled(page);
    await page.getByRole('button', { name: 'Version before' }).click();
    await page.getByText('1 / 2').waitFor();
  }],
  ['edit with a branch, and back', async (page) => {
    await page.locator('article[aria-label="Your message"]').last().hover();
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill('Name one colour.');
    await page.getByRole('button', { name: 'Send as a new branch' }).click();
    await page.locator('article[aria-label="Your message"]', { hasText: 'Name one colour.' }).waitFor();
    await settled(page);
    await page.locator('article[aria-label="Your message"]').getByRole('button', { name: 'Version before' }).click();
    await page.locator('article[aria-label="Your message"]', { hasText: 'Say hello' }).waitFor();
  }],
  ['stop, then continue', async (page) => {
    await page.getByRole('link', { name: 'New chat' }).first().click();
    await ask(page, 'Write a long story about a fox who learns to sail.', false);
    await page.waitForFunction(() => (document.querySelector('article .md')?.textContent?.length ?? 0) > 10, undefined, { timeout: long });
    await page.keyboard.press('Escape');
    await settled(page);
    const before = (await answers(page).last().locator('.md').textContent()) ?? '';
    await page.getByRole('button', { name: 'Continue' }).last().click();
    await page.waitForFunction((length) => (document.querySelector('article .md')?.textContent?.length ?? 0) > length + 5, before.length, { timeout: long });
    await page.getByRole('button', { name: /^Stop/ }).click();
    await settled(page);
    const after = (await answers(page).last().locator('.md').textContent()) ?? '';
    assert.ok(after.trim().startsWith(before.trim().slice(0, 20)), 'the text before is kept');
  }],
  ['delete a message, undo', async (page) => {
    const count = await page.getByRole('article').count();
    await menu(page, 'More', 'Delete from here');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.waitForFunction((wanted) => document.querySelectorAll('article').length === wanted, count);
  }],
  ['fork', async (page) => {
    const from = page.url();
    await menu(page, 'More', 'New chat from here');
    await page.waitForFunction((old) => location.href !== old, from);
    await answers(page).last().waitFor();
  }],
  ['rename, pin', async (page) => {
    const row = page.locator('nav li', { has: page.locator('a[aria-current=page]') });
    await row.hover();
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name of the chat' }).fill('Zanzibar');
    await page.keyboard.press('Enter');
    await page.locator('nav a', { hasText: 'Zanzibar' }).waitFor();
    await page.locator('nav li', { hasText: 'Zanzibar' }).hover();
    await page.getByRole('button', { name: 'Options of Zanzibar' }).click();
    await page.getByRole('menuitem', { name: 'Pin' }).click();
    await page.getByRole('heading', { name: 'Pinned' }).waitFor();
  }],
  ['search titles and texts', async (page) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('zanzi');
    await page.getByRole('option', { name: /Zanzibar/ }).waitFor();
    await axe(page, 'search');
    await page.getByRole('combobox').fill('hello');
    await page.locator('[role=option] mark').first().waitFor();
    await page.keyboard.press('Enter');
    await page.locator('article', { hasText: 'hello' }).first().waitFor();
  }],
  ['search in the chat', async (page) => {
    await page.keyboard.press('Control+Shift+f');
    await page.getByRole('textbox', { name: 'Search in this chat' }).fill('hello');
    await page.getByRole('status').filter({ hasText: '1 of' }).waitFor();
    await page.keyboard.press('Escape');
  }],
  ['delete a chat, undo', async (page) => {
    const count = await page.locator('nav li').count();
    await page.keyboard.press('Control+Shift+d');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.waitForFunction((wanted) => document.querySelectorAll('nav li').length === wanted, count);
  }],
  ['theme and language, kept over a reload', async (page) => {
    await page.keyboard.press('Control+,');
    await page.getByText('Dark', { exact: true }).click();
    await page.getByRole('combobox', { name: 'Language' }).selectOption('de');
    await page.getByRole('dialog', { name: 'Einstellungen' }).waitFor();
    await axe(page, 'settings');
    await page.getByRole('tab', { name: 'Parameter' }).click();
    await axe(page, 'parameters');
    await page.keyboard.press('Escape');
    await page.reload();
    await page.waitForFunction(() => `${document.documentElement.dataset['theme']} ${document.documentElement.lang}` === 'dark de');
    await page.keyboard.press('Control+,');
    await page.getByRole('combobox', { name: 'Sprache' }).selectOption('en');
    await page.keyboard.press('Escape');
  }],
  ['drafts over a reload', async (page) => {
    await page.locator('#prompt').fill('A draft that stays');
    await page.waitForTimeout(600);
    await page.reload();
    await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#prompt')?.value === 'A draft that stays');
    await page.locator('#prompt').fill('');
  }],
  ['an image is refused before sending', async (page) => {
    const png = await page.evaluate(async () => {
      const canvas = document.createElement('canvas');
      return canvas.toDataURL('image/png').split(',')[1]!;
    });
    await page.locator('footer input[type=file]').setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') });
    await page.getByText(/reads no images/).waitFor();
    await page.locator('#prompt').fill('What is this?');
    assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
    await page.getByRole('button', { name: 'Remove x.png' }).click();
    await page.locator('#prompt').fill('');
  }],
  ['models, shortcuts, branches', async (page) => {
    await page.keyboard.press('Escape');
    await page.locator('#prompt').blur();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await axe(page, 'shortcuts');
    await page.keyboard.press('Escape');
    await menu(page, 'Chat menu', 'Map of branches');
    await page.getByRole('dialog', { name: 'Branches of this chat' }).waitFor();
    await axe(page, 'branches');
    await page.keyboard.press('Escape');
    await axe(page, 'chat');
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await page.getByRole('heading', { name: 'Models', exact: true }).waitFor();
    await axe(page, 'models');
    await page.getByRole('link', { name: 'New chat' }).first().click();
    await page.getByRole('heading', { name: 'What shall we work out?' }).waitFor();
    await axe(page, 'empty');
  }],
];

const { page, faults } = await open(all);
let failed = 0;
const only = process.env['ONLY'];
const left = process.env['WITHOUT'];
for (const [name, run] of cases) {
  if ((only && !name.includes(only)) || (left && name.includes(left))) continue;
  const before = faults.length;
  try {
    await run(page);
    assert.deepEqual(faults.slice(before), []);
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${(error as Error).message.slice(0, 1500)} ${faults.slice(before).join('\n')}`);
    await page.screenshot({ path: `build/failed-${failed}.png` }).catch(() => undefined);
    await page.keyboard.press('Escape');
  }
}
await all.end();
process.exit(failed ? 1 : 0);
