// The package with the real engine and tiny models, on the CPU device: same logits and text as the native program, broken files,
// and a page that opens offline. PUNA_DEVICE=gpu takes the browser's GPU instead.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before, beforeEach } from 'node:test';
import { bundle, copyEngine } from '../../build.mjs';
import { outcome, startBrowser } from '../browser/harness.mjs';

const root = process.cwd(); // bindings/js
const goldens = path.join(root, '../../tests/goldens');
const dist = path.join(root, 'build/test/dist');
const device = process.env.PUNA_DEVICE ?? 'cpu';
// DESIGN.md: exact numerics against the reference, by the weights' type.
const limits = { f16: 1e-4, bf16: 1e-4 };
let run;

before(async () => {
  fs.mkdirSync(dist, { recursive: true });
  await bundle(dist);
  const copied = copyEngine(process.env.PUNA_ENGINE ?? path.join(root, '../../build/wasm/bindings/js'), dist);
  assert.ok(copied.includes('puna.wasm'), 'puna.wasm is built');
  const page = path.join(root, '../../examples/page');
  run = await startBrowser({ folders: { '/dist/': dist, '/page/puna/': dist, '/page/service_worker.js': path.join(dist, 'service_worker.js'), '/page/': page } });
});
after(() => run?.stop());
beforeEach(() => {
  run.server.files.clear();
  run.server.log.length = 0;
});

// The float32 numbers of a .npy file.
function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const start = 10 + bytes.readUInt16LE(8);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length));
}

function nmse(found, wanted) {
  let error = 0;
  let power = 0;
  for (let i = 0; i < wanted.length; ++i) {
    error += (found[i] - wanted[i]) ** 2;
    power += wanted[i] ** 2;
  }
  return error / power;
}

const names = fs.readdirSync(goldens).filter((name) => name.endsWith('.npy')).map((name) => name.slice(0, -4));
const serve = (pathname, file) => run.server.files.set(pathname, { bytes: fs.readFileSync(file) });

for (const name of names) {
  test(`golden model ${name}: logits and greedy text`, async () => {
    const folder = fs.existsSync(path.join(goldens, name));
    if (folder) for (const file of fs.readdirSync(path.join(goldens, name))) serve(`/${name}/${file}`, path.join(goldens, name, file));
    else serve(`/${name}.gguf`, path.join(goldens, `${name}.gguf`));
    const about = JSON.parse(fs.readFileSync(path.join(goldens, `${name}.json`), 'utf8'));
    const { context, page } = await run.open();
    const found = await outcome(
      page,
      `const engine = await Puna.load(arg.source, { device: arg.device, numerics: 'exact', kvType: 'f32' });
       const logits = [...await engine.logits(arg.tokens)];
       const text = await engine.complete({ prompt: arg.tokens, temperature: 0, max_tokens: 8, ignore_eos: true }).completion();
       const greedy = await engine.detokenize(arg.greedy.slice(0, 8));
       await engine.close();
       return { logits, greedy, text: text.choices[0].text, usage: text.usage, device: engine.info.device.type };`,
      { source: folder ? `/${name}/` : `/${name}.gguf`, tokens: about.tokens, greedy: about.greedy, device },
    );
    assert.ok(found.logits, JSON.stringify(found));
    const wanted = readNpy(path.join(goldens, `${name}.npy`));
    assert.equal(found.logits.length, wanted.length);
    const error = nmse(found.logits, wanted);
    assert.ok(error <= (limits[name.split('-').at(-1)] ?? 1e-6), `NMSE ${error}`);
    assert.equal(found.text, found.greedy.replace(/<\|\w+\|>/g, '')); // a text leaves markers out
    assert.equal(found.usage.completion_tokens, 8);
    assert.equal(found.device, device);
    await context.close();
  });
}

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
    await page.selectOption('#on', device);
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
  await context.setOffline(true);
  await page.reload();
  await page.waitForSelector('#models li');
  await load();
  assert.match(await page.textContent('#device'), /llama\.gguf on/);
  await context.close();
});
