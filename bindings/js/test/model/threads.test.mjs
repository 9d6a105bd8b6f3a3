// The engine with threads, which pages have that are cross-origin isolated: the same answers, and everything else as with one thread.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { outcome, startBrowser } from '../browser/harness.mjs';
import { buildReal } from './real.mjs';

const goldens = path.resolve('../../tests/goldens');
const kIsolation = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const kThreads = 2; // the least that differ from one: browsers tell at least so many
const kModels = ['llama-q4_0', 'llama-q4_k_m'];
const dist = await buildReal();
const skip = !fs.existsSync(path.join(dist, 'puna-mt.wasm'))
  ? 'puna-mt.wasm is not built: cmake --preset wasm-mt && cmake --build --preset wasm-mt --target puna_page'
  : os.availableParallelism() < kThreads && 'this machine has one hardware thread';
let isolated;
let plain;

before(async () => {
  if (skip) return;
  isolated = await startBrowser({ headers: kIsolation, folders: { '/dist/': dist } });
  plain = await startBrowser({ folders: { '/dist/': dist } });
  for (const { server } of [isolated, plain]) {
    for (const name of kModels) server.files.set(`/${name}.gguf`, { bytes: fs.readFileSync(path.join(goldens, `${name}.gguf`)) });
  }
});
after(async () => {
  await isolated?.stop();
  await plain?.stop();
});

const kAnswer = `
  const engine = await Puna.load(arg.model, { device: 'cpu', threads: arg.threads });
  const tokens = [];
  for await (const chunk of engine.complete({ prompt: [1, 5, 9, 20, 7, 3, 40, 11, 2, 30], max_tokens: 24, temperature: 0, ignore_eos: true, return_tokens: true })) tokens.push(...(chunk.tokens ?? []));
  const { threads, device } = engine.info;
  await engine.close();
  return { tokens, threads, name: device.name };`;

for (const name of kModels) {
  test(`${name}: two threads with relaxed SIMD continue a text as one thread does`, { skip }, async () => {
    const answers = [];
    for (const run of [isolated, plain]) {
      const { context, page } = await run.open();
      answers.push(await outcome(page, kAnswer, { model: `/${name}.gguf`, threads: kThreads }));
      for (let i = 0; i < 50 && page.workers().length > 0; ++i) await page.waitForTimeout(100);
      assert.equal(page.workers().length, 0);
      await context.close();
    }
    const [several, one] = answers;
    assert.deepEqual([several.message, several.threads, several.name], [undefined, kThreads, `CPU (wasm_relaxed_simd, ${kThreads} threads)`]);
    assert.deepEqual([one.message, one.threads, one.name], [undefined, 1, 'CPU (wasm_simd128, 1 thread)']);
    assert.equal(several.tokens.length, 24);
    assert.deepEqual(several.tokens, one.tokens);
  });
}

test('with threads an answer is stopped, the next one comes, and a second load reads from storage', { skip }, async () => {
  const { context, page } = await isolated.open();
  const stopped = await outcome(
    page,
    `const engine = await Puna.load('/llama-q4_0.gguf', { device: 'cpu' });
     const stop = new AbortController();
     let name = null;
     try {
       for await (const chunk of engine.complete({ prompt: [1, 5], max_tokens: 100000, ignore_eos: true }, { signal: stop.signal })) stop.abort();
     } catch (error) {
       name = error.name;
     }
     const { usage } = await engine.complete({ prompt: [1, 5], max_tokens: 3, ignore_eos: true }).completion();
     await engine.close();
     return { name, tokens: usage.completion_tokens };`,
  );
  assert.deepEqual(stopped, { name: 'AbortError', tokens: 3 });
  const again = await outcome(page, kAnswer, { model: '/llama-q4_0.gguf', threads: kThreads });
  assert.deepEqual([again.threads, again.tokens?.length], [kThreads, 24], again.message);
  await context.close();
});

test('with threads a damaged file is refused with what is wrong', { skip }, async () => {
  const bytes = fs.readFileSync(path.join(goldens, 'llama-q4_0.gguf'));
  isolated.server.files.set('/cut.gguf', { bytes: bytes.subarray(0, bytes.length - 1000) });
  const { context, page } = await isolated.open();
  const failed = await outcome(page, `await Puna.load('/cut.gguf', { device: 'cpu' })`);
  assert.equal(failed.code, 'corrupt', JSON.stringify(failed));
  await context.close();
});

test('without the files for threads an isolated page warns and uses one thread', { skip }, async () => {
  const without = path.resolve('build/test/real-without-threads');
  fs.cpSync(dist, without, { recursive: true, filter: (file) => !path.basename(file).startsWith('puna-mt') });
  const run = await startBrowser({ headers: kIsolation, folders: { '/dist/': without } });
  try {
    run.server.files.set('/m.gguf', { bytes: fs.readFileSync(path.join(goldens, 'llama-q4_0.gguf')) });
    const { page } = await run.open();
    const warnings = [];
    page.on('console', (message) => warnings.push(message.text()));
    const answer = await outcome(page, kAnswer, { model: '/m.gguf', threads: kThreads });
    assert.deepEqual([answer.threads, answer.tokens?.length], [1, 24], answer.message);
    assert.ok(warnings.some((text) => /one thread is used in place of 2: puna-mt\.js/.test(text)), warnings.join('\n'));
  } finally {
    await run.stop();
  }
});
