// The package with the real engine and a tiny model: broken files, and the example page, which opens offline.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before, beforeEach } from 'node:test';
import { outcome, startBrowser } from '../browser/harness.mjs';
import { buildReal } from './real.mjs';

const root = process.cwd(); // bindings/js
const goldens = path.join(root, '../../tests/goldens');
let run;

before(async () => {
  const dist = await buildReal();
  const page = path.join(root, '../../examples/page');
  run = await startBrowser({ folders: { '/dist/': dist, '/page/puna/': dist, '/page/service_worker.js': path.join(dist, 'service_worker.js'), '/page/': page } });
});
after(() => run?.stop());
beforeEach(() => {
  run.server.files.clear();
  run.server.log.length = 0;
});

const serve = (pathname, file) => run.server.files.set(pathname, { bytes: fs.readFileSync(file) });

test('a cut, a damaged and a foreign file are refused with what is wrong, and leave nothing running', async () => {
  const bytes = fs.readFileSync(path.join(goldens, 'llama-q4_0.gguf'));
  const { context, page } = await run.open();
  const load = `const engine = await Puna.load(arg, { device: 'cpu' }); await engine.close(); return 'loaded';`;
  for (const [name, content, code] of [
    ['cut.gguf', bytes.subarray(0, bytes.length - 1000), 'corrupt'],
    ['short.gguf', bytes.subarray(0, 100), 'corrupt'],
    ['text.gguf', Buffer.from('hello world, this is no model'), 'unsupported'],
  ]) {
    run.server.files.set(`/${name}`, { bytes: content });
    const failed = await outcome(page, load, `/${name}`);
    assert.equal(failed.code, code, `${name}: ${JSON.stringify(failed)}`);
    const dropped = await outcome(page, `await Puna.load(new File([Uint8Array.from(arg)], 'x.gguf'))`, [...content.subarray(0, 5000)]);
    assert.equal(dropped.code, code, JSON.stringify(dropped));
    if (code !== 'corrupt') continue;
    // The server's file is put right under the same address and entity tag.
    run.server.files.set(`/${name}`, { bytes, etag: name === 'cut.gguf' ? '"one"' : '"two"' });
    assert.equal(await outcome(page, load, `/${name}`), 'loaded');
  }
  for (let i = 0; i < 50 && page.workers().length > 0; ++i) await page.waitForTimeout(100); // the browser ends them when it can
  assert.equal(page.workers().length, 0);
  await context.close();
});

test('the example page loads a model, goes on with a text, stops, and opens offline', async () => {
  serve('/llama.gguf', path.join(goldens, 'llama-q4_0.gguf'));
  const { context } = await run.open();
  const page = await context.newPage();
  await page.goto(`${run.server.origin}/page/`);
  const load = async () => {
    await page.selectOption('#on', 'cpu');
    await page.fill('#address', '/llama.gguf');
    await page.click('#other button');
    await page.waitForFunction(() => !document.getElementById('chat').hidden || !document.getElementById('error').hidden);
    assert.equal(await page.textContent('#error'), '');
  };
  await load();
  await page.waitForFunction(() => document.documentElement.dataset.offline === 'ready');
  await page.fill('#prompt', 'abc');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /tokens\/s/.test(document.getElementById('status').textContent));
  assert.match(await page.textContent('#status'), /weights .*heap/);
  await page.click('#unload');
  await page.setInputFiles('#file', path.join(goldens, 'llama-q4_k_m.gguf'));
  await page.waitForFunction(() => !document.getElementById('chat').hidden);
  assert.match(await page.textContent('#device'), /llama-q4_k_m\.gguf on/);
  await context.setOffline(true);
  await page.reload();
  await page.waitForSelector('#models li');
  await load();
  assert.match(await page.textContent('#device'), /llama\.gguf on/);
  await context.close();
});
