// Files in a chat with a model that sees: picked, dropped, pasted, shown, counted, sent as they are, kept, and refused with a reason.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Page, Request } from 'playwright-core';
import { seeingSite } from '../seeing.ts';
import { lockedPdf, pdf, png, wav } from '../files.ts';
import { answers, axe, long, newChat, send, settled, type Case, type Flow } from './flow.ts';

const picker = (page: Page) => page.locator('footer input[type=file]');
const file = (name: string, buffer: Buffer, mimeType = 'application/octet-stream') => ({ name, mimeType, buffer });
const remove = (page: Page, name: string) => page.getByRole('button', { name: `Remove ${name}` });

interface Part {
  type: string;
  text?: string;
  image_url?: { url: string };
}
const lastContent = (request: Request) => (JSON.parse(request.postData() ?? '{}') as { messages: { content: string | Part[] }[] }).messages.at(-1)!.content;
const chats = (request: Request) => new URL(request.url()).pathname === '/v1/chat/completions';

async function sent(page: Page, words: string): Promise<string | Part[]> {
  const [request] = await Promise.all([page.waitForRequest(chats, { timeout: long }), send(page, words)]);
  await answers(page).last().waitFor({ timeout: long });
  await settled(page);
  return lastContent(request);
}

// As a browser hands over what is dropped or pasted.
const hand = (page: Page, kind: 'drop' | 'paste', name: string, type: string, bytes: Buffer) =>
  page.evaluate(
    async ([how, called, mime, base64]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(base64!), (c) => c.charCodeAt(0))], called!, { type: mime! }));
      if (how === 'drop') window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
      else document.querySelector('#prompt')!.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    },
    [kind, name, type, bytes.toString('base64')],
  );

const small = png(48, 32);
const cases: Case[] = [
  ['a picture is shown, opened large, counted, and sent to the byte', async (page) => {
    await picker(page).setInputFiles(file('stripes.png', small));
    await remove(page, 'stripes.png').waitFor();
    await page.locator('footer').getByText('25 tokens').waitFor({ timeout: long });
    const shown = page.getByRole('button', { name: 'Show stripes.png large' });
    await shown.click();
    await page.getByRole('dialog', { name: 'stripes.png' }).getByRole('img', { name: 'stripes.png' }).waitFor();
    await axe(page, 'a picture, large');
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Show stripes.png large');
    await axe(page, 'a picture in the draft');
    const content = await sent(page, 'What is this?');
    assert.deepEqual(content, [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${small.toString('base64')}` } },
      { type: 'text', text: 'What is this?' },
    ]);
    assert.equal(await page.getByRole('alert').count(), 0);
  }],
  ['written again, it goes with the question', async (page) => {
    const [request] = await Promise.all([page.waitForRequest(chats), page.getByRole('button', { name: 'Write again' }).last().click()]);
    await page.getByText('2 / 2').waitFor({ timeout: long });
    await settled(page);
    assert.equal((lastContent(request) as Part[])[0]?.type, 'image_url');
  }],
  ['edited with a branch, it stays', async (page) => {
    await page.locator('article[aria-label="Your message"]').last().hover();
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill('Which colours?');
    const [request] = await Promise.all([page.waitForRequest(chats), page.getByRole('button', { name: 'Send as a new branch' }).click()]);
    await settled(page);
    assert.deepEqual((lastContent(request) as Part[]).map(({ type }) => type), ['image_url', 'text']);
  }],
  ['it is there after a reload, and in the export', async (page) => {
    await page.reload();
    await page.getByRole('button', { name: 'Show stripes.png large' }).last().waitFor({ timeout: long });
    await page.getByRole('button', { name: 'Chat menu' }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'Export (JSONL)' }).click()]);
    assert.ok((await readFile(await download.path(), 'utf8')).includes(`"base64Url":"data:image/png;base64,${small.toString('base64')}"`));
  }],
  ['dropped and pasted, kept in the draft over a reload, removed by keys', async (page) => {
    await newChat(page);
    await hand(page, 'drop', 'dropped.png', 'image/png', png(20, 20));
    await remove(page, 'dropped.png').waitFor();
    await hand(page, 'paste', 'pasted.wav', 'audio/wav', wav(0.2));
    await remove(page, 'pasted.wav').waitFor();
    await page.locator('footer audio[aria-label="pasted.wav"]').waitFor();
    await page.waitForTimeout(600);
    await page.reload();
    await remove(page, 'dropped.png').focus({ timeout: long });
    await page.keyboard.press('Delete');
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Remove pasted.wav');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.id === 'prompt');
  }],
  ['a picture larger than models take is scaled', async (page) => {
    await picker(page).setInputFiles(file('large.png', png(4096, 2048)));
    await remove(page, 'large.png').waitFor({ timeout: long });
    const content = (await sent(page, 'And this?')) as Part[];
    const bytes = Buffer.from(content[0]!.image_url!.url.split(',')[1]!, 'base64');
    assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [2896, 1448]);
  }],
  ['what claims too many pixels is refused before it is decoded', async (page) => {
    const bomb = Buffer.from(png(1, 1));
    bomb.writeUInt32BE(100_000, 16);
    bomb.writeUInt32BE(100_000, 20);
    await picker(page).setInputFiles(file('bomb.png', bomb));
    await page.getByText('bomb.png has 10,000,000,000 pixels; pictures may have 134,217,728.').waitFor();
    await picker(page).setInputFiles(file('cut.png', small.subarray(0, 60)));
    await page.getByText(/cut\.png cannot be read/).waitFor();
  }],
  ['a PDF is text, or images of its pages', async (page) => {
    await picker(page).setInputFiles(file('two.pdf', pdf(['First page', 'Second page'])));
    await remove(page, 'two.pdf').waitFor({ timeout: long });
    await page.getByRole('button', { name: 'Pages as images' }).click();
    await page.getByText('2 pages as images').waitFor({ timeout: long });
    await page.getByRole('button', { name: 'Show two.pdf large' }).click();
    await page.getByRole('img', { name: 'Page 2 of 2' }).waitFor();
    await axe(page, 'pages of a PDF');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'As text' }).click();
    const content = await sent(page, 'What does it say?');
    assert.match(content as string, /First page[^]*Second page[^]*What does it say\?/);
  }],
  ['a PDF without text is seen', async (page) => {
    await picker(page).setInputFiles(file('scan.pdf', pdf([''])));
    await page.getByText('1 page as an image').waitFor({ timeout: long });
    await remove(page, 'scan.pdf').click();
  }],
  ['a PDF that is locked or damaged is explained', async (page) => {
    await picker(page).setInputFiles(file('locked.pdf', lockedPdf()));
    await page.getByText(/locked\.pdf is encrypted/).waitFor({ timeout: long });
    await picker(page).setInputFiles(file('damaged.pdf', Buffer.from(`%PDF-1.4\n${'x'.repeat(500)}`)));
    await page.getByText(/damaged\.pdf cannot be read/).waitFor({ timeout: long });
  }],
  ['a sound is refused where the model hears none', async (page) => {
    await picker(page).setInputFiles(file('tone.wav', wav(0.2)));
    await page.getByText(/hears no sound/).waitFor({ timeout: long });
    await page.locator('#prompt').fill('What is this?');
    assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
    await remove(page, 'tone.wav').click();
    await page.locator('#prompt').fill('');
  }],
];

export const attachments: Flow = { name: 'attachments', cases, site: ({ puna, build }) => seeingSite(puna, build) };
