#!/usr/bin/env node
// How fast the web page is, as a browser tells it: from the address to a composer that can be typed in, a long chat opened, scrolled, an
// answer written, keys typed meanwhile, and the memory that chats leave behind. Answers come from a server of this program
// (web/test/scripted.ts). The bytes of a first visit are bench/web/first_bytes'.
//   node bench/web/page_speed.mjs [--build FOLDER]... [--only NAME]... [--messages 10000] [--rate 800] [--keys 60] [--runs 7]
// --build  a built page (web/build); several are measured by turns
// --only   of the measures: first, open, scroll, answer, keys, memory
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
    only: { type: 'string', multiple: true, default: [] },
    messages: { type: 'string', default: '10000' },
    rate: { type: 'string', default: '800' },
    keys: { type: 'string', default: '60' },
    runs: { type: 'string', default: '7' },
  },
});
const [messages, rate, keys, runs] = [values.messages, values.rate, values.keys, values.runs].map(Number);

const words = 'Words of an answer that is long enough to fill some lines of the page, as answers do. ';
const lines = (n) =>
  Array.from({ length: n }, (_, i) => (i % 2 ? { role: 'assistant', content: words.repeat(1 + ((i * 7) % 11)) } : { role: 'user', content: `Question ${i / 2}` }));
const longChat = () => session('A long chat', Date.now(), 'one', lines(messages));
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const share = (list, part) => list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))];

async function imported(page, text) {
  await page.keyboard.press('Control+,');
  await page.getByRole('tab', { name: 'Data' }).click();
  await page.locator('[role=dialog] input[type=file]').setInputFiles({ name: 'chats.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(text) });
  await page.locator('[role=tabpanel] p', { hasText: 'imported' }).waitFor();
  await page.keyboard.press('Escape');
}

// Milliseconds from a click to the frame that shows the last message.
async function opened(page, name) {
  const link = page.locator('nav a', { hasText: name }).first();
  await link.waitFor();
  return await link.evaluate(
    (anchor) =>
      new Promise((done) => {
        const begin = performance.now();
        anchor.click();
        const look = () => {
          const scroller = document.querySelector('main#transcript');
          const last = [...document.querySelectorAll('article')].at(-1);
          const shown = last && scroller && last.getBoundingClientRect().top < innerHeight && scroller.scrollTop + scroller.clientHeight > scroller.scrollHeight - 200;
          if (shown) requestAnimationFrame(() => done(performance.now() - begin));
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
}

// Times between frames and of long tasks, from now on.
const watchFrames = (page) =>
  page.evaluate(() => {
    const seen = (globalThis.seen = { frames: [], tasks: [], last: performance.now() });
    new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => seen.tasks.push(duration))).observe({ type: 'longtask' });
    const frame = (now) => {
      seen.frames.push(now - seen.last);
      seen.last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
const framesSeen = (page) => page.evaluate(() => ({ frames: globalThis.seen.frames.slice(1), tasks: globalThis.seen.tasks }));

async function asked(page, model) {
  await page.locator('#prompt').fill('Go on.');
  await page.locator('form button[aria-label=Send]:enabled').waitFor();
  await page.locator('#prompt').press('Enter');
  while (model.asked.length === 0) await page.waitForTimeout(20);
}

// Pieces as tokens are, paragraphs among them, until it is called.
function writing(model) {
  const [begin, text] = [Date.now(), `${words.repeat(6)}\n\n`];
  let sent = 0;
  const timer = setInterval(() => {
    for (const due = ((Date.now() - begin) * rate) / 1_000; sent + 4 < due; sent += 4) model.say(text.slice(sent % text.length, (sent % text.length) + 4));
  }, 5);
  return () => clearInterval(timer);
}

async function first(page, { address }) {
  await page.addInitScript(() => {
    new MutationObserver(() => {
      const composer = document.querySelector('#prompt');
      if (composer && !composer.disabled) globalThis.usable ??= performance.now();
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });
  await page.goto(address);
  await page.locator('#prompt').fill('A');
  return { 'to a composer that can be typed in, ms': await page.evaluate(() => globalThis.usable) };
}

async function open(page, { address }) {
  await page.goto(address);
  await page.locator('#prompt').waitFor();
  await imported(page, longChat());
  return { [`to the last of ${messages} messages, ms`]: await opened(page, 'A long chat') };
}

async function scroll(page, { address }) {
  await page.goto(address);
  await page.locator('#prompt').waitFor();
  await imported(page, longChat());
  await opened(page, 'A long chat');
  const out = {};
  for (const step of [40, 400]) {
    const frames = await page.evaluate(
      (by) =>
        new Promise((done) => {
          const scroller = document.querySelector('main#transcript');
          const times = [];
          const frame = (now) => {
            times.push(now);
            scroller.scrollTop -= by;
            if (times.length <= 300) requestAnimationFrame(frame);
            else done((1_000 * (times.length - 1)) / (times.at(-1) - times[0]));
          };
          requestAnimationFrame(frame);
        }),
      step,
    );
    out[`frames a second at ${step} pixels a frame`] = frames;
  }
  return out;
}

async function answer(page, { address, model }) {
  await page.goto(address);
  await page.locator('#prompt').waitFor();
  await asked(page, model);
  model.say(`${words.repeat(6)}\n\n`.repeat(58)); // 30 kB
  await page.waitForTimeout(3_000);
  await watchFrames(page);
  const stop = writing(model);
  await page.waitForTimeout(10_000);
  stop();
  const { frames, tasks } = await framesSeen(page);
  return { [`95 % of frames at ${rate} characters/s behind 30 kB, ms`]: share(frames, 0.95), 'longest task there, ms': Math.max(0, ...tasks) };
}

async function typing(page, { address, model }) {
  await page.goto(address);
  await page.locator('#prompt').waitFor();
  await imported(page, longChat());
  await opened(page, 'A long chat');
  await asked(page, model);
  const stop = writing(model);
  await page.waitForTimeout(2_000);
  await page.evaluate(() => {
    globalThis.durations = [];
    const seen = (list) => list.getEntries().forEach(({ name, duration }) => name === 'keydown' && globalThis.durations.push(duration));
    // Shorter ones than 16 ms are not told, and others in steps of 8.
    new PerformanceObserver(seen).observe({ type: 'event', durationThreshold: 16 });
  });
  await page.locator('#prompt').focus();
  await page.keyboard.type('letters of a message '.repeat(keys).slice(0, keys), { delay: 120 });
  await page.waitForTimeout(500);
  const told = await page.evaluate(() => globalThis.durations);
  stop();
  const list = [...told, ...Array(Math.max(0, keys - told.length)).fill(8)];
  return { 'from a key to its letter meanwhile, median, ms': median(list), '95 %, ms': share(list, 0.95) };
}

async function memory(page, { address }) {
  await page.goto(address);
  await page.locator('#prompt').waitFor();
  const names = Array.from({ length: 30 }, (_, i) => `Chat ${String(i).padStart(2, '0')}`);
  await imported(page, names.map((name) => session(name, Date.now(), 'one', lines(60))).join('\n'));
  const devtools = await page.context().newCDPSession(page);
  const kept = [];
  for (let round = 0; round < 3; round++) {
    for (const name of names) await opened(page, name);
    await page.evaluate(() => (location.hash = '#/'));
    await page.locator('main#transcript:not(:has(article))').waitFor();
    await devtools.send('HeapProfiler.collectGarbage');
    kept.push((await devtools.send('Runtime.getHeapUsage')).usedSize / 1e6);
  }
  return { 'MB in use after 30 chats': kept[0], 'more after 30 again': kept[1] - kept[0], 'and again': kept[2] - kept[1] };
}

const measures = { first, open, scroll, answer, keys: typing, memory };

// A browser and a server of their own for each: nothing is warm.
async function measured(measure, build) {
  const model = await scripted('one');
  const at = await serve(build, model.api);
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
    page.setDefaultTimeout(300_000);
    return await measure(page, { address: at.address, model });
  } finally {
    await browser.close();
    at.close();
    model.end();
  }
}

for (const name of values.only) if (!measures[name]) throw new Error(`There is no measure "${name}"; ${Object.keys(measures).join(', ')} are.`);
for (const [name, measure] of Object.entries(measures)) {
  if (values.only.length > 0 && !values.only.includes(name)) continue;
  const all = new Map(values.build.map((build) => [build, {}]));
  for (let run = 0; run < runs; run++)
    for (const [build, told] of all) for (const [what, value] of Object.entries(await measured(measure, build))) (told[what] ??= []).push(value);
  for (const [build, told] of all)
    for (const [what, list] of Object.entries(told)) {
      const shown = (value) => value.toFixed(what.includes('MB') || what.includes('again') ? 2 : 1);
      const where = values.build.length > 1 ? `${path.relative(process.cwd(), fs.realpathSync(build))}: ` : '';
      console.log(`${where}${name}: ${what}: ${shown(median(list))} (${list.map(shown).join(', ')})`);
    }
}
