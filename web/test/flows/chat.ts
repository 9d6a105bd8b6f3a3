// The daily use of a chat: asking, stopping, versions, searching, settings, drafts.
import assert from 'node:assert/strict';
import { answers, ask, grown, long, menu, newChat, send, settled, underWay, written, type Case, type Flow } from './flow.ts';

const cases: Case[] = [
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
  ['stop, then continue', async (page, { weather }) => {
    await newChat(page);
    // A tiny model has written all it can before a hand could stop it.
    weather.brake = underWay;
    await send(page, 'Write a long story about a fox who learns to sail.');
    await grown(page, 10);
    await page.keyboard.press('Escape');
    await settled(page);
    const before = await written(page);
    await page.getByRole('button', { name: 'Continue' }).last().click();
    await grown(page, before.length + 5);
    await page.getByRole('button', { name: /^Stop/ }).click();
    await settled(page);
    weather.brake = undefined;
    assert.ok((await written(page)).trim().startsWith(before.trim().slice(0, 20)), 'the text before is kept');
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
    await page.getByRole('combobox').fill('hello');
    await page.locator('[role=option] mark').first().waitFor();
    await page.keyboard.press('Enter');
    await page.locator('article', { hasText: 'hello' }).first().waitFor();
  }],
  ['search in the chat', async (page) => {
    await page.keyboard.press('Control+Shift+f');
    await page.getByRole('textbox', { name: 'Search in this chat' }).fill('hello');
    await page.getByRole('status').filter({ hasText: /\d of \d/ }).waitFor();
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
    await page.keyboard.press('Escape');
    await page.reload();
    await page.waitForFunction(() => `${document.documentElement.dataset['theme']} ${document.documentElement.lang}` === 'dark de');
    await page.keyboard.press('Control+,');
    await page.getByRole('combobox', { name: 'Sprache' }).selectOption('en');
    await page.keyboard.press('Escape');
  }],
  ['what is typed while a question is sent', async (page) => {
    await newChat(page);
    for (const [i, question] of ['Say hello.', 'Say it again.'].entries()) {
      await page.locator('#prompt').fill(question);
      await page.locator('form button[aria-label=Send]:enabled').waitFor({ timeout: long });
      // All at once, as fast fingers would.
      await page.evaluate(() => {
        const field = document.querySelector<HTMLTextAreaElement>('#prompt')!;
        field.focus();
        field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
        document.execCommand('insertText', false, ' and more');
      });
      await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#prompt')?.value === ' and more' && location.hash.startsWith('#/chat/'), undefined, { timeout: long });
      await page.locator('article[aria-label="Your message"]', { hasText: question }).waitFor({ timeout: long });
      await answers(page).nth(i).waitFor({ timeout: long });
      await settled(page);
    }
    await page.locator('#prompt').fill('');
  }],
  ['drafts over a reload', async (page) => {
    await page.locator('#prompt').fill('A draft that stays');
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
  ['a long paste becomes a file, and text again', async (page) => {
    await page.locator('#prompt').evaluate((field) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', 'long '.repeat(600));
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    });
    await page.getByRole('button', { name: 'Remove pasted.txt' }).waitFor();
    assert.equal(await page.locator('#prompt').inputValue(), '');
    await page.getByRole('button', { name: 'Put it back as text' }).click();
    await page.getByRole('button', { name: 'Remove pasted.txt' }).waitFor({ state: 'detached' });
    assert.equal(await page.locator('#prompt').inputValue(), 'long '.repeat(600));
    await page.locator('#prompt').fill('');
  }],
];

export const chat: Flow = { name: 'chat', cases };
