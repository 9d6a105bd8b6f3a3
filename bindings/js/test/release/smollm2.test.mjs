// The package and the example page with real weights, SmolLM2 (98 MB): a download with cuts, greedy text beside the command line's, stop,
// a lost GPU, two tabs, a dropped file, offline. `puna pull smollm2` gets the file (PUNA_SMOLLM2 names another place), and the command line
// is build/release/puna (PUNA_CLI). With PUNA_SHOTS, a folder, pictures of the page are left there to look at.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { outcome, startBrowser } from '../browser/harness.mjs';
import { buildReal } from '../model/real.mjs';

const root = path.resolve('../..');
const digest = /smollm2:latest[^}]*sha256: '([0-9a-f]{64})'/.exec(fs.readFileSync('src/sources/catalogue.ts', 'utf8'))[1];
const model = process.env.PUNA_SMOLLM2 ?? path.join(process.env.PUNA_HOME ?? path.join(os.homedir(), '.puna'), `models/blobs/sha256-${digest}`);
const cli = process.env.PUNA_CLI ?? path.join(root, 'build/release/puna');
const missing = [model, cli].filter((file) => !fs.existsSync(file));
const skip = missing.length > 0 && `SKIPPED: there is no ${missing.join(' and no ')}`;
if (skip) console.log(skip);

const kPrompt = 'The capital of France is';
const kMessages = [{ role: 'user', content: 'Name three colours.' }];
// Adapters of tests are slow: SwiftShader takes seconds a token.
const kTokens = { cpu: 32, gpu: 6 };
let run;
let bytes;

// Gives tests a way to the worker's GPU: anything on the channel makes every device end.
const kLoseGpu = `
  const devices = [];
  const request = globalThis.GPUAdapter?.prototype.requestDevice;
  if (request) GPUAdapter.prototype.requestDevice = async function (...args) { const device = await request.apply(this, args); devices.push(device); return device; };
  new BroadcastChannel('lose').onmessage = () => devices.splice(0).forEach((device) => device.destroy());
`;

before(async () => {
  if (skip) return;
  const dist = await buildReal();
  const losing = path.resolve('build/test/losing');
  fs.cpSync(dist, losing, { recursive: true });
  fs.writeFileSync(path.join(losing, 'worker.js'), kLoseGpu + fs.readFileSync(path.join(dist, 'worker.js'), 'utf8'));
  const page = path.join(root, 'examples/page');
  const folders = { '/dist/': losing, '/page/puna/': dist, '/page/service_worker.js': path.join(dist, 'service_worker.js'), '/page/': page };
  run = await startBrowser({ folders });
  bytes = fs.readFileSync(model);
});
after(() => run?.stop());

// Greedy token ids, as the command line gives them on the CPU with exact numerics.
function expected(n) {
  const args = ['run', model, kPrompt, '--raw', '--temp', '0', '--numerics', 'exact', '--kv-type', 'f32', '--device', 'cpu', '-n', String(n), '--ignore-eos', '--output-tokens'];
  return execFileSync(cli, args, { encoding: 'utf8' }).trim().split(/\s+/).map(Number);
}

async function open(options = {}) {
  run.server.files.clear();
  run.server.files.set('/smollm2.gguf', { bytes, ...options });
  run.server.log.length = 0;
  return run.open();
}

const shot = async (page, name) => process.env.PUNA_SHOTS && page.screenshot({ path: path.join(process.env.PUNA_SHOTS, `${name}.png`) });

for (const device of ['cpu', 'gpu']) {
  test(`${device}: a download with cuts is resumed, and greedy text is that of the command line`, { skip }, async (t) => {
    const { context, page } = await open({ cutAfter: 20e6, cuts: 2 });
    const got = await outcome(
      page,
      `const engine = await Puna.load('/smollm2.gguf', { device: arg.device, numerics: 'exact', kvType: 'f32', context: 512 });
       const tokens = [];
       for await (const chunk of engine.complete({ prompt: arg.prompt, max_tokens: arg.n, temperature: 0, ignore_eos: true, return_tokens: true })) tokens.push(...(chunk.tokens ?? []));
       const { device, load_ms } = engine.info;
       await engine.close();
       return { tokens, device, load_ms };`,
      { device, prompt: kPrompt, n: kTokens[device] },
    );
    assert.equal(got.device?.type, device, JSON.stringify(got));
    t.diagnostic(`${got.device.name}, loaded in ${(got.load_ms / 1000).toFixed(1)} s`);
    const cut = run.server.log.filter(({ path: name, status }) => name === '/smollm2.gguf' && status === 206);
    assert.ok(cut.length >= 5, 'cut answers are followed by others');
    assert.ok(cut.reduce((sum, { bytes: n }) => sum + n, 0) < bytes.length + 3 * (8 << 22), 'what had come was not fetched again');
    assert.deepEqual(got.tokens, expected(kTokens[device]));
    await context.close();
  });

  test(`${device}: the self-test is made once, a chat can be stopped, and the next one answers`, { skip }, async () => {
    const { context, page } = await open();
    const got = await outcome(
      page,
      `const tests = [];
       for (const selfTest of [true, true, 'always']) {
         const engine = await Puna.load('/smollm2.gguf', { device: arg.device, context: 512, selfTest });
         tests.push(engine.info.device.selfTest);
         globalThis.engine = engine;
         if (tests.length < 3) await engine.close();
       }
       const stop = new AbortController();
       let n = 0, name = null;
       try {
         for await (const chunk of engine.chat({ messages: arg.messages, max_tokens: 100, temperature: 0 }, { signal: stop.signal })) if (chunk.choices[0]?.delta.content && ++n === 2) stop.abort();
       } catch (error) { name = error.name; }
       const { choices, usage } = await engine.chat({ messages: arg.messages, max_tokens: 4, temperature: 0 }).completion();
       await engine.close();
       return { tests, n, name, text: choices[0].message.content, used: usage.completion_tokens };`,
      { device, messages: kMessages },
    );
    assert.deepEqual(got.tests, device === 'gpu' ? ['passed', 'passed before', 'passed'] : Array(3).fill('not run'), JSON.stringify(got));
    assert.equal(got.name, 'AbortError');
    assert.ok(got.n >= 2 && got.n < 20, `${got.n} pieces came`);
    assert.equal(got.used, 4);
    assert.ok(got.text.length > 0);
    await context.close();
  });
}

test('a GPU that is lost in the middle of an answer is replaced, and the answer goes on', { skip }, async () => {
  const { context, page } = await open();
  const got = await outcome(
    page,
    `const states = [];
     const engine = await Puna.load('/smollm2.gguf', { device: 'gpu', numerics: 'exact', kvType: 'f32', context: 512, onState: ({ state }) => states.push(state) });
     const channel = new BroadcastChannel('lose');
     const tokens = [];
     for await (const chunk of engine.complete({ prompt: arg.prompt, max_tokens: arg.n, temperature: 0, ignore_eos: true, return_tokens: true })) {
       tokens.push(...(chunk.tokens ?? []));
       if (tokens.length >= 2 && states.length === 0) { states.push('lost'); channel.postMessage(1); }
     }
     await engine.close();
     return { tokens, states };`,
    { prompt: kPrompt, n: kTokens.gpu },
  );
  assert.deepEqual(got.states, ['lost', 'recovering', 'recovered'], JSON.stringify(got));
  assert.deepEqual(got.tokens, expected(kTokens.gpu));
  await context.close();
});

test('two tabs share one engine and one download', { skip }, async () => {
  const { context, page } = await open();
  const second = await run.openPage(context);
  const use = `const engine = await Puna.load('/smollm2.gguf', { device: 'cpu', context: 512, share: true });
    return (await engine.chat({ messages: arg, max_tokens: 6, temperature: 0 }).completion()).choices[0].message.content;`;
  const [one, two] = await Promise.all([outcome(page, use, kMessages), outcome(second, use, kMessages)]);
  assert.equal(typeof one, 'string', JSON.stringify(one));
  assert.equal(two, one);
  const sent = run.server.log.reduce((sum, { bytes: n }) => sum + n, 0);
  assert.ok(sent <= bytes.length + (1 << 20), `${sent} bytes were sent`);
  await context.close();
});

test('the page: load, chat, stop, offline after a reload, and a dropped file', { skip }, async () => {
  const { context } = await open({ delay: 2 });
  const page = await context.newPage();
  await page.setViewportSize({ width: 900, height: 700 });
  page.setDefaultTimeout(120_000);
  await page.goto(`${run.server.origin}/page/`);
  await shot(page, '1-start');
  const ready = async () => {
    await page.waitForFunction(() => !document.getElementById('chat').hidden || !document.getElementById('error').hidden);
    assert.equal(await page.textContent('#error'), '');
  };
  const load = async () => {
    await page.selectOption('#on', 'cpu');
    await page.fill('#address', '/smollm2.gguf');
    await page.click('#other button');
  };
  await load();
  await page.waitForFunction(() => /MB\/s.*left/.test(document.getElementById('loading-how').textContent));
  await shot(page, '2-loading');
  await ready();
  await page.waitForFunction(() => document.documentElement.dataset.offline === 'ready');
  const ask = async (text) => {
    await page.fill('#prompt', text);
    await page.keyboard.press('Enter');
  };
  await ask('Why is the sky blue? Answer in one sentence.');
  await page.waitForFunction(() => document.querySelectorAll('.assistant')[0]?.textContent.length > 60);
  await page.click('#stop');
  await page.waitForSelector('#send:not([hidden])');
  assert.match(await page.textContent('#status'), /weights .*heap/);
  await ask('Name three colours.');
  await page.waitForFunction(() => document.querySelectorAll('.assistant')[1]?.textContent.length > 10);
  await page.click('#stop').catch(() => undefined); // it may be over
  await shot(page, '3-chat');

  await context.setOffline(true);
  await page.reload();
  await page.waitForSelector('#models li');
  await load();
  await ready();
  assert.match(await page.textContent('#device'), /smollm2\.gguf on/);
  await shot(page, '4-offline');
  await context.setOffline(false);

  await page.click('#unload');
  const dropped = await page.evaluateHandle(async () => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([await (await fetch('/smollm2.gguf')).blob()], 'dropped.gguf'));
    return transfer;
  });
  await page.dispatchEvent('body', 'drop', { dataTransfer: dropped });
  await ready();
  assert.match(await page.textContent('#device'), /dropped\.gguf on/);
  await context.close();
});
