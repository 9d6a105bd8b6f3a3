// Pictures of the page's states for docs/web: `node test/pictures.ts PUNA MODEL FOLDER [BUILD]`.
import { mkdirSync } from 'node:fs';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { bench, open } from './browser.ts';
import { sample, streamed } from './sample.ts';

const [puna, model, folder, build = 'build'] = process.argv.slice(2);
if (!puna || !model || !folder) throw new Error('Usage: node test/pictures.ts PUNA MODEL FOLDER [BUILD]');
mkdirSync(folder, { recursive: true });
const all = await bench(puna, model, build);
const only = process.env['ONLY']?.split(',');

const chat = async (page: Page) => {
  await page.goto(`${all.address}#/chat/sample-kv-cache-for-an-8b-model`);
  await page.getByText('31,744 tokens').waitFor();
  await page.waitForTimeout(700);
};
const failing = (page: Page, status: number, error: object) =>
  page.route('**/v1/chat/completions', (route) => route.fulfill({ status, contentType: 'application/json', body: JSON.stringify({ error }) }));
const send = async (page: Page) => {
  await page.locator('#prompt').fill('And if half the layers use a sliding window of 1,024?');
  await page.locator('form button[aria-label=Send]:enabled').click();
};

const states: Record<string, (page: Page) => Promise<unknown>> = {
  empty: (page) => page.goto(`${all.address}#/`),
  chat,
  streaming: async (page) => {
    await page.goto(`${all.address}#/`);
    const piece = (delta: object) => `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta }] })}\n\n`;
    await page.route('**/v1/chat/completions', (route) =>
      route.fulfill({ status: 200, contentType: 'text/event-stream', body: piece({ role: 'assistant', reasoning_content: 'Two vectors for each token and layer.' }) + piece({ content: streamed }) }),
    );
    await send(page);
    await page.getByText('58,254').waitFor();
  },
  error: async (page) => {
    await page.goto(`${all.address}#/`);
    await failing(page, 400, { code: 400, type: 'exceed_context_size_error', message: 'The request has 11380 tokens.', n_prompt_tokens: 11380, n_ctx: 8192 });
    await send(page);
    await page.getByRole('alert').first().waitFor();
  },
  models: (page) => page.goto(`${all.address}#/models`),
  search: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('cache');
    await page.locator('[role=option] mark').first().waitFor();
  },
  settings: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+,');
    await page.getByRole('dialog').waitFor();
  },
  parameters: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+,');
    await page.getByRole('tab').nth(1).click();
    await page.locator('label', { hasText: 'temperature' }).waitFor();
  },
  picker: async (page) => {
    await chat(page);
    await page.keyboard.press('Control+m');
    await page.locator('[data-model]').first().waitFor();
  },
  branches: async (page) => {
    await chat(page);
    await page.locator('header button[aria-haspopup=menu]').click();
    await page.getByRole('menuitem').nth(1).click();
    await page.getByRole('dialog').waitFor();
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
  },
  offline: async (page) => {
    await chat(page);
    all.weather.away = true;
    await page.locator('.banner').waitFor({ timeout: 60_000 });
  },
};

const looks = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const;

let bad = 0;
for (const [look, options] of Object.entries(looks)) {
  for (const [state, show] of Object.entries(states)) {
    if (only && !only.includes(state) && !only.includes(`${state}-${look}`)) continue;
    if (state === 'drawer' && look !== 'phone') continue;
    const { page, faults } = await open(all, { ...options, deviceScaleFactor: 1 });
    try {
      page.setDefaultTimeout(90_000);
      await page.evaluate(() => localStorage.setItem('puna.settings', JSON.stringify({ language: 'en' })));
      await page.keyboard.press('Control+,');
      await page.getByRole('tab').nth(3).click();
      await page.locator('[role=dialog] input[type=file]').setInputFiles({ name: 'sample.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(sample('SmolLM2-135M-Instruct')) });
      await page.locator('[role=tabpanel] p', { hasText: '9 chats imported' }).waitFor();
      await page.keyboard.press('Escape');
      await show(page);
      await page.locator('main h1').first().waitFor({ state: 'attached' });
      await page.waitForTimeout(500);
      await page.screenshot({ path: `${folder}/${state}-${look}.png`, animations: 'disabled' });
      const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']).analyze();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const found = [
        ...violations.map((one) => `axe ${one.id}: ${one.nodes.map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).slice(0, 3).join(' | ')}`),
        ...faults,
        ...(wide > 0 ? [`wider than the screen by ${wide} px`] : []),
      ];
      bad += found.length;
      console.log(`${state}-${look}`, found.length ? found.join('\n   ') : 'ok');
    } catch (error) {
      bad++;
      console.log(`${state}-${look} FAILED ${(error as Error).message.slice(0, 600)} ${faults.join(' ')}`);
      await page.screenshot({ path: `${folder}/failed-${state}-${look}.png` }).catch(() => undefined);
    }
    all.weather.away = false;
    await page.context().close();
  }
}
await all.end();
process.exit(bad ? 1 : 0);
