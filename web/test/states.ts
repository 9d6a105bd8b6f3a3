// The states of the page, each as one function that brings a page there: for the pictures of docs/web (pictures.ts), and for what is asked
// of every state (flows/looks.ts).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { served, site, type Site } from './browser.ts';
import { png } from './files.ts';
import { sample, session, streamed } from './sample.ts';
import { serve } from './serve.ts';

// Where states are shown: a server that keeps conversations, one that wants a key, and no server.
export interface Places extends Site {
  locked: Site;
  none: string;
}

export async function places(puna: string, model: string, build: string): Promise<Places> {
  const folder = mkdtempSync(join(tmpdir(), 'puna-states-'));
  const at = await site(puna, ['--model', model, '--web-store', join(folder, 'conversations.sqlite'), ...served()], build);
  const locked = await site(puna, ['--model', model, '--api-key', 'a-key', ...served()], build);
  const none = await serve(build, undefined);
  const end = () => {
    for (const each of [at, locked]) each.end();
    none.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  return { ...at, locked, none: none.address, end };
}

export const looks: Record<string, BrowserContextOptions> = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

const question = 'And if half the layers use a sliding window of 1,024?';
const rtl = [
  { role: 'user' as const, content: 'ما هي البونا؟' },
  { role: 'assistant' as const, content: 'البونا سهل عشبي مرتفع في جبال الأنديز:\n\n1. يقع بين **3200** و 5000 متر.\n2. ينمو فيه عشب الإيتشو.\n\n```python\nprint("puna")\n```' },
];
const unseen = (model: string) => session('البونا', Date.now() - 30_000, model, rtl);

// The chats that every state has behind it. The sidebar shows them.
export async function furnish(page: Page, address: string, model: string) {
  await page.goto(address);
  await page.locator('#prompt').waitFor();
  await page.evaluate(() => localStorage.setItem('puna.settings', JSON.stringify({ language: 'en' })));
  await data(page);
  const buffer = Buffer.from(`${sample(model)}\n${unseen(model)}`);
  await page.locator('[role=dialog] input[type=file]').setInputFiles({ name: 'sample.jsonl', mimeType: 'application/jsonl', buffer });
  await page.locator('[role=tabpanel] p', { hasText: '10 chats imported' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

async function settings(page: Page, name: 'General' | 'Parameters' | 'Presets' | 'Data') {
  await page.keyboard.press('Control+,');
  await page.getByRole('tab', { name }).click();
}
const data = (page: Page) => settings(page, 'Data');
const home = async (page: Page) => {
  await page.evaluate(() => (location.hash = '#/'));
  await page.getByRole('heading', { name: 'What shall we work out?' }).waitFor();
};
const chat = async (page: Page) => {
  await page.evaluate(() => (location.hash = '#/chat/sample-kv-cache-for-an-8b-model'));
  await page.getByText('31,744 tokens').waitFor();
  await page.locator('.katex').first().waitFor();
};
const send = async (page: Page) => {
  await page.locator('#prompt').fill(question);
  await page.locator('form button[aria-label=Send]:enabled').click();
};

const event = (value: object) => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...value })}\n\n`;
const delta = (value: object) => event({ choices: [{ index: 0, delta: value, finish_reason: null }] });
// The next answer begins with these events, and then stays as it is; or it breaks off.
const answerWith = (page: Page, events: string, breaks = false) =>
  page.evaluate(
    ([text, ends]) => {
      const { fetch } = window;
      window.fetch = async (input, init) => {
        const path = new URL(String(input), location.href).pathname;
        if (path === '/v1/stream' && ends) throw new TypeError('Failed to fetch');
        if (path !== '/v1/chat/completions') return fetch(input, init);
        const body = new ReadableStream({
          start(stream) {
            stream.enqueue(new TextEncoder().encode(text as string));
            if (ends) setTimeout(() => stream.error(new TypeError('network error')), 100);
            init?.signal?.addEventListener('abort', () => stream.error(init.signal!.reason));
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      };
    },
    [events, breaks] as const,
  );
const refused = (page: Page, status: number, error: object) =>
  page.route('**/v1/chat/completions', (route) => route.fulfill({ status, contentType: 'application/json', body: JSON.stringify({ error }) }));
const calls = { tool_calls: [{ index: 0, id: 'call', type: 'function', function: { name: 'calculator', arguments: '{"expression": "2 * 32 * 8 * 128 * 2"}' } }] };
const files = (...all: [name: string, type: string, bytes: Buffer][]) => all.map(([name, mimeType, buffer]) => ({ name, mimeType, buffer }));
const attach = (page: Page, ...all: [string, string, Buffer][]) => page.locator('footer input[type=file]').setInputFiles(files(...all));
const menu = async (page: Page, name: string) => {
  await page.getByRole('button', { name, exact: true }).last().click();
  await page.getByRole('menu').waitFor();
};

export type State = (page: Page, at: Places) => Promise<unknown>;
export const states: Record<string, State> = {
  empty: home,
  'no-server': async (page, { none }) => {
    await page.goto(none);
    await page.getByText('is not on this device yet').waitFor();
  },
  key: async (page, { locked }) => {
    await page.goto(locked.address);
    await page.getByRole('status').filter({ hasText: 'The server wants a key' }).waitFor();
  },
  chat,
  'right-to-left': async (page) => {
    await page.locator('nav a, header').first().waitFor({ state: 'attached' });
    await page.evaluate(() => (location.hash = '#/chat/sample--'));
    await page.getByText('الإيتشو').waitFor();
  },
  reading: async (page) => {
    await home(page);
    await answerWith(page, event({ choices: [], prompt_progress: { total: 5_120, cache: 0, processed: 2_048, time_ms: 900 } }));
    await send(page);
    await page.getByText('Reading 2,048').waitFor();
  },
  streaming: async (page) => {
    await home(page);
    await answerWith(page, delta({ role: 'assistant', reasoning_content: 'Two vectors for each token and layer.' }) + delta({ content: streamed }));
    await send(page);
    await page.getByText('58,254').waitFor();
  },
  thinking: async (page) => {
    await page.evaluate(() => localStorage.setItem('puna.settings', JSON.stringify({ language: 'en', showThinking: true })));
    await page.reload();
    await home(page);
    await answerWith(page, delta({ role: 'assistant', reasoning_content: 'The cache holds **two vectors** for each token and layer, a key and a value.\n\n- 32 layers\n- 8 KV heads' }));
    await send(page);
    await page.getByText('8 KV heads').waitFor();
  },
  tool: async (page) => {
    await home(page);
    await answerWith(page, delta({ role: 'assistant', content: 'That is a product.' }) + delta(calls) + event({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }) + 'data: [DONE]\n\n');
    await send(page);
    await page.getByRole('button', { name: 'Allow once' }).waitFor();
  },
  lost: async (page) => {
    await home(page);
    await answerWith(page, delta({ role: 'assistant', content: streamed.slice(0, 300) }), true);
    await send(page);
    await page.getByText('The connection is gone.').waitFor();
  },
  cut: async (page) => {
    await home(page);
    await answerWith(page, delta({ role: 'assistant', content: streamed.slice(0, 300) }) + 'data: {"error":{"code":401,"type":"authentication_error","message":"The key is no longer valid."}}\n\n');
    await send(page);
    await page.getByText('What had come is kept.').waitFor();
  },
  error: async (page) => {
    await home(page);
    await refused(page, 400, { code: 400, type: 'exceed_context_size_error', message: 'The request has 11380 tokens.', n_prompt_tokens: 11380, n_ctx: 8192 });
    await send(page);
    await page.getByRole('alert').first().waitFor();
  },
  attached: async (page) => {
    await home(page);
    await attach(page, ['stripes.png', 'image/png', png(480, 320)], ['notes.md', 'text/markdown', Buffer.from('# Ichu\n\nGrass of the puna.\n'.repeat(40))]);
    await page.locator('#prompt').fill('What is on this picture?');
    await page.getByText(/reads no images/).waitFor();
  },
  edit: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+Shift+e');
    await page.getByRole('textbox', { name: 'Edit the message' }).waitFor();
  },
  menu: async (page) => {
    await chat(page);
    await menu(page, 'More');
  },
  raw: async (page) => {
    await chat(page);
    await menu(page, 'More');
    await page.getByRole('menuitem', { name: 'Raw text' }).click();
    await page.getByRole('dialog').waitFor();
  },
  branches: async (page) => {
    await chat(page);
    await menu(page, 'Chat menu');
    await page.getByRole('menuitem', { name: 'Map of branches' }).click();
    await page.getByRole('dialog').waitFor();
  },
  find: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+Shift+f');
    await page.getByRole('textbox', { name: 'Search in this chat' }).fill('tokens');
    await page.getByRole('status').filter({ hasText: /\d of \d/ }).waitFor();
  },
  search: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('cache');
    await page.locator('[role=option] mark').first().waitFor();
  },
  picker: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+m');
    await page.locator('[data-model]').first().waitFor();
  },
  models: async (page) => {
    await page.evaluate(() => (location.hash = '#/models'));
    await page.getByRole('heading', { name: 'Models', exact: true }).waitFor();
  },
  settings: async (page) => {
    await chat(page);
    await settings(page, 'General');
  },
  parameters: async (page) => {
    await chat(page);
    await settings(page, 'Parameters');
    await page.locator('label', { hasText: 'temperature' }).waitFor();
  },
  presets: async (page) => {
    await chat(page);
    await settings(page, 'Presets');
    await page.getByRole('button', { name: 'New preset' }).click();
    await page.getByLabel('System message').fill('You answer in rhymes.');
  },
  data: async (page) => {
    await chat(page);
    await data(page);
    await page.getByRole('switch', { name: 'Keep conversations on this server' }).waitFor();
  },
  devices: async (page) => {
    await chat(page);
    await data(page);
    await page.getByRole('switch', { name: 'Keep conversations on this server' }).click();
    await page.getByText('Synchronised:').waitFor();
  },
  import: async (page) => {
    await chat(page);
    await data(page);
    await page.locator('[role=dialog] input[type=file]').setInputFiles(files(['holiday.jpg', 'image/jpeg', Buffer.from('no picture')], ['chats.json', 'application/json', Buffer.from('{"a": 1')]));
    await page.getByText('Not all could be taken').waitFor();
    await page.getByText('chats.json').scrollIntoViewIfNeeded();
  },
  shortcuts: async (page) => {
    await chat(page);
    await page.locator('#transcript').focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
  },
  drawer: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+b');
    await page.getByRole('link', { name: 'Models', exact: true }).last().waitFor();
  },
  selecting: async (page) => {
    await chat(page);
    if (await page.getByRole('button', { name: 'Show sidebar' }).isVisible()) await page.getByRole('button', { name: 'Show sidebar' }).click();
    const name = 'SQL window functions';
    await page.locator('nav li:visible', { hasText: name }).hover();
    await page.getByRole('button', { name: `Options of ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Select several' }).click();
    await page.getByText('1 selected').waitFor();
  },
  undo: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+Shift+d');
    await page.getByRole('button', { name: 'Undo' }).waitFor();
  },
  gone: async (page) => {
    await page.evaluate(() => (location.hash = '#/chat/nowhere'));
    await page.getByRole('heading', { name: 'This chat is not here' }).waitFor();
  },
  storage: async (page) => {
    await page.addInitScript(() => (IDBFactory.prototype.open = () => { throw new DOMException('Not allowed', 'SecurityError'); }));
    await page.reload();
    await page.getByText('This browser stores nothing here').waitFor();
  },
  offline: async (page, { weather }) => {
    await chat(page);
    weather.away = true;
    // It is asked for at once where the page is seen again.
    await page.evaluate(() => void document.dispatchEvent(new Event('visibilitychange')));
    await page.locator('.banner').waitFor({ timeout: 60_000 });
  },
};

// Where it is another one on phones alone.
export const onPhones = new Set(['drawer']);
