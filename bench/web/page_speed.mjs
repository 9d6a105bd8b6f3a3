#!/usr/bin/env node
// How long keys take in a long chat of the web page while an answer is written in it: what a browser's event timing says from the key to the
// frame that shows its letter, which is told in steps of 8 ms. The answers come from a server of this program (web/test/scripted.ts).
//   node bench/web/page_speed.mjs [--build FOLDER]... [--messages 10000] [--rate 800] [--keys 60] [--runs 3]
// --build  a built page (web/build); several are measured by turns
// --rate   characters of the answer a second
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.join(import.meta.dirname, '../..');
const web = (file) => import(path.join(root, 'web', file));
const { chromium } = await web('node_modules/playwright-core/index.mjs');
const { serve } = await web('test/serve.ts');
const { scripted } = await web('test/scripted.ts');
const { session } = await web('test/sample.ts');
const { chromiumPath } = await web('test/browser.ts');

const { values } = parseArgs({
  options: {
    build: { type: 'string', multiple: true, default: [path.join(root, 'web/build')] },
    messages: { type: 'string', default: '10000' },
    rate: { type: 'string', default: '800' },
    keys: { type: 'string', default: '60' },
    runs: { type: 'string', default: '3' },
  },
});
const [messages, rate, keys, runs] = [values.messages, values.rate, values.keys, values.runs].map(Number);

const words = 'Words of an answer that is long enough to fill some lines of the page, as answers do. ';
const chat = session(
  'A long chat',
  Date.now(),
  'one',
  Array.from({ length: messages }, (_, i) => (i % 2 ? { role: 'assistant', content: words.repeat(1 + ((i * 7) % 11)) } : { role: 'user', content: `Question ${i / 2}` })),
);
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

// Milliseconds of each key.
async function typed(build) {
  const model = await scripted('one');
  const at = await serve(build, model.api);
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  let timer;
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
    page.setDefaultTimeout(300_000);
    await page.goto(at.address);
    await page.locator('#prompt').waitFor();
    await page.keyboard.press('Control+,');
    await page.getByRole('tab', { name: 'Data' }).click();
    await page.locator('[role=dialog] input[type=file]').setInputFiles({ name: 'long.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(chat) });
    await page.locator('[role=tabpanel] p', { hasText: 'imported' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('nav a', { hasText: 'A long chat' }).click();
    await page.getByRole('article').last().waitFor();
    await page.locator('#prompt').fill('Go on.');
    await page.locator('form button[aria-label=Send]:enabled').waitFor();
    await page.locator('#prompt').press('Enter');
    while (model.asked.length === 0) await page.waitForTimeout(20);

    // Pieces as tokens are, paragraphs among them.
    const [begin, text] = [Date.now(), `${words.repeat(6)}\n\n`];
    let sent = 0;
    timer = setInterval(() => {
      for (const due = ((Date.now() - begin) * rate) / 1_000; sent + 4 < due; sent += 4) model.say(text.slice(sent % text.length, (sent % text.length) + 4));
    }, 5);
    await page.waitForTimeout(2_000);
    await page.evaluate(() => {
      globalThis.durations = [];
      const seen = (list) => list.getEntries().forEach(({ name, duration }) => name === 'keydown' && globalThis.durations.push(duration));
      // Shorter ones than 16 ms are not told.
      new PerformanceObserver(seen).observe({ type: 'event', durationThreshold: 16 });
    });
    await page.locator('#prompt').focus();
    await page.keyboard.type('letters of a message '.repeat(keys).slice(0, keys), { delay: 120 });
    await page.waitForTimeout(500);
    const told = await page.evaluate(() => globalThis.durations);
    return [...told, ...Array(Math.max(0, keys - told.length)).fill(8)];
  } finally {
    clearInterval(timer);
    await browser.close();
    at.close();
    model.end();
  }
}

const all = new Map(values.build.map((build) => [build, []]));
for (let run = 0; run < runs; run++) for (const [build, list] of all) list.push(...(await typed(build)));
for (const [build, list] of all) {
  const sorted = list.toSorted((a, b) => a - b);
  const medians = Array.from({ length: runs }, (_, i) => median(list.slice(i * keys, (i + 1) * keys)));
  const name = values.build.length > 1 ? `${path.relative(process.cwd(), fs.realpathSync(build))}: ` : '';
  console.log(`${name}${messages} messages, ${rate} characters/s: keys take a median of ${median(list)} ms (of runs: ${medians.join(', ')}), 95 % at most ${sorted[Math.floor(sorted.length * 0.95)]} ms`);
}
