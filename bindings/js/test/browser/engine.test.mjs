// The engine as pages use it: answers, stopping, a lost GPU, several tabs, the service worker. The model is made up.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before, beforeEach } from 'node:test';
import { madeUpBytes } from '../support/server.mjs';
import { buildFake, outcome, startBrowser } from './harness.mjs';

const bytes = madeUpBytes(300_000);
let run;
let fake; // the folder of the bundles
let changing; // a service worker that a test replaces

before(async () => {
  fake = path.resolve(await buildFake('build/test/fake'));
  changing = path.join(fake, 'changing.js');
  run = await startBrowser({ folders: { '/service_worker.js': path.join(fake, 'service_worker.js'), '/changing.js': changing } });
});
after(() => run?.stop());
beforeEach(() => {
  run.server.files.clear();
  run.server.files.set('/m.gguf', { bytes });
  run.server.log.length = 0;
});

// The words that the engine of the tests says with this seed.
const words = (n, seed) => Array.from({ length: n }, (_, i) => `w${(seed * 31 + i * 7) % 1000} `).join('');
const load = `const engine = globalThis.engine = await Puna.load('/m.gguf', arg?.options);`;
const read = `let text = ''; const ids = new Set(); let last; for await (const chunk of engine.chat(arg.request, arg.chat)) { last = chunk; ids.add(chunk.id); text += chunk.choices[0]?.delta.content ?? ''; }
  return { text, ids: [...ids].length, finish: last?.choices[0]?.finish_reason, usage: last?.usage };`;

test('a chat comes in chunks, a completion as a whole, and the rest of the calls answer', async () => {
  const { context, page } = await run.open();
  const answer = await outcome(page, load + read, { request: { messages: [{ role: 'user', content: 'Hi' }], seed: 3 } });
  assert.deepEqual(answer, { text: words(5, 3), ids: 1, finish: 'stop', usage: { prompt_tokens: 1, completion_tokens: 5, total_tokens: 6 } });
  const whole = await outcome(page, `return engine.chat({ messages: [], seed: 3 }).completion()`);
  assert.deepEqual([whole.object, whole.choices[0].message.content, whole.usage.completion_tokens], ['chat.completion', words(5, 3), 5]);
  assert.equal((await outcome(page, `return engine.complete({ prompt: 'x', seed: 4 }).completion()`)).choices[0].text, words(5, 4));
  const rest = await outcome(
    page,
    `return [await engine.tokenize('ab'), await engine.detokenize([99, 100]), (await engine.logits([1, 2])).length, (await engine.embed({ input: 'x' })).data.length,
      (await engine.memory()).kv_bytes, engine.info.name];`,
  );
  assert.deepEqual(rest, [[97, 98], 'cd', 8, 1, 2, 'm.gguf']);
  const closed = await outcome(page, `await engine.close(); return engine.tokenize('x')`);
  assert.equal(closed.code, 'closed');
  await context.close();
});

test('wrong arguments are refused with the value', async () => {
  const { context, page } = await run.open();
  for (const [code, match] of [
    [`Puna.load('/m.gguf', { device: 'tpu' })`, /device is "tpu".*auto, gpu, cpu/],
    [`Puna.load('/m.gguf', { context: -1 })`, /context is -1/],
    [`Puna.load(5)`, /from 5/],
    [`Puna.load('ftp://x/m.gguf')`, /"ftp:\/\/x\/m.gguf"/],
    [`Puna.load('hf:owner')`, /hf:owner/],
    [`Puna.load({ url: '/m.gguf', sha256: 'abc' })`, /"abc"/],
    [`Puna.load([])`, /empty list/],
    [`Puna.load('file:///m.gguf')`, /file:\/\/\/m.gguf/],
    [`Puna.load('/m.gguf', { assets: '/dist' })`, /ending with "\/"/],
  ]) {
    const error = await outcome(page, `return ${code}`);
    assert.equal(error.code, 'invalid_argument', `${code}: ${error.message}`);
    assert.match(error.message, match);
  }
  const nowhere = await outcome(page, `return Puna.load('/m.gguf', { assets: '/nowhere/' })`);
  assert.deepEqual([nowhere.code, /worker\.js/.test(nowhere.message)], ['internal', true]);
  const unknown = await outcome(page, `return Puna.load('llama9')`);
  assert.deepEqual([unknown.code, unknown.message.includes('smollm2')], ['not_found', true]);
  const request = await outcome(page, `${load} return engine.chat({ messages: [], temperature: -2 }).completion()`);
  assert.deepEqual(request, { code: 'invalid_argument', message: 'The field "temperature" is -2, but it has to be at least 0.', name: 'PunaError' });
  const clone = await outcome(page, `return engine.chat({ messages: [], on: () => 1 }).completion()`);
  assert.equal(clone.code, 'invalid_argument');
  await context.close();
});

test('leaving the loop stops the engine, a signal too, and a slow reader pauses it', async () => {
  const { context, page } = await run.open();
  const slow = { messages: [], fake: { tokens: 100000, delay: 0 } };
  const left = await outcome(page, `${load} let n = 0; for await (const chunk of engine.chat(arg.request)) if (++n === 3) break; return [n, await engine.tokenize('a')];`, { request: slow });
  assert.deepEqual(left, [3, [97]]);
  const stopped = await outcome(
    page,
    `const stop = new AbortController(); let n = 0;
     try { for await (const chunk of engine.chat(arg.request, { signal: stop.signal })) if (++n === 3) stop.abort(); } catch (error) { return [n, error.code, error.name]; }`,
    { request: slow },
  );
  assert.deepEqual(stopped, [3, 'aborted', 'AbortError']);
  // The reader takes one chunk and waits: the engine must not say all of its words meanwhile.
  const paused = await outcome(
    page,
    `const chunks = engine.chat({ messages: [], seed: 1, fake: { tokens: 2000 } })[Symbol.asyncIterator]();
     await chunks.next(); await new Promise((resolve) => setTimeout(resolve, 500));
     let text = ''; for (let next = await chunks.next(); !next.done; next = await chunks.next()) text += next.value.choices[0].delta.content ?? '';
     return text;`,
  );
  assert.equal(paused, words(2000, 1));
  await context.close();
});

test('a GPU that goes away is replaced, and the answer goes on as if nothing had been', async () => {
  const { context, page } = await run.open();
  const lost = await outcome(
    page,
    `const states = []; const engine = await Puna.load('/m.gguf', { onState: (state) => states.push(state.state) });
     let text = ''; const ids = new Set();
     for await (const chunk of engine.chat({ messages: [], fake: { tokens: 20, loseAt: 8 } })) { text += chunk.choices[0].delta.content ?? ''; ids.add(chunk.id); }
     return { words: text.split(' ').length - 1, distinct: new Set(text.split(' ')).size, ids: ids.size, states, engine: engine.info.device.why };`,
  );
  assert.deepEqual(lost, { words: 20, distinct: 21, ids: 1, states: ['recovering', 'recovered'], engine: 'engine 2' });
  await context.close();
});

test('an answer that the next engine does not repeat ends with gpu_lost', async () => {
  const { context, page } = await run.open();
  const lost = await outcome(page, `${load} ${read}`, { request: { messages: [], seed: 1, fake: { tokens: 20, loseAt: 8, drift: true } } });
  assert.equal(lost.code, 'gpu_lost', JSON.stringify(lost));
  assert.match(lost.message, /a test took it.*another text/);
  assert.equal((await outcome(page, `return engine.chat({ messages: [], seed: 1 }).completion()`)).usage.completion_tokens, 5);
  await context.close();
});

test('local files are read in place, and kept when asked for', async () => {
  const { context, page } = await run.open();
  const file = `const bytes = new Uint8Array(9_000_000).map((_, i) => i % 253); const file = new File([bytes], 'mine.gguf');`;
  const local = await outcome(page, `${file} const engine = await Puna.load(file); return [engine.info.name, (await Puna.models.list()).length, engine.info.device.name];`);
  assert.deepEqual(local.slice(0, 2), ['mine.gguf', 0]);
  const kept = await outcome(page, `${file} const engine = await Puna.load(file, { keep: true }); await engine.close(); return engine.info.device.name;`);
  assert.equal(kept, local[2]);
  const again = await outcome(page, `const engine = await Puna.load('mine.gguf'); await engine.close(); return engine.info.device.name;`);
  assert.equal(again, local[2]);
  assert.equal(await outcome(page, `return Puna.models.delete('mine.gguf')`), 9_000_000);
  const odd = await outcome(
    page,
    `const name = 'Моя Model (1).gguf'; const keeping = await Puna.load(new File(['x'], name), { keep: true }); await keeping.close();
     const engine = await Puna.load(name); await engine.close(); return [engine.info.name === name, await Puna.models.delete(name)];`,
  );
  assert.deepEqual(odd, [true, 1]);
  const folder = await outcome(
    page,
    `const files = [['f/config.json', '{}'], ['f/model.safetensors', 'xyz']].map(([path, text]) => { const file = new File([text], path.slice(2)); Object.defineProperty(file, 'webkitRelativePath', { value: path }); return file; });
     const engine = await Puna.load(files); return [engine.info.name, engine.info.architecture];`,
  );
  assert.deepEqual(folder, ['f', 'config.json,model.safetensors']);
  assert.equal((await outcome(page, `return Puna.load(new File([], 'empty.gguf'))`)).code, 'corrupt');
  assert.equal((await outcome(page, `return Puna.load(['a.gguf', 'b.gguf'].map((name) => new File(['x'], name)))`)).code, 'invalid_argument');
  await context.close();
});

test('a folder of MLC shards is downloaded file by file, and found again offline', async () => {
  const { context, page } = await run.open();
  const text = (value) => ({ bytes: new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)) });
  const shards = [0, 1, 2, 3, 4].map((i) => ({ dataPath: `params_shard_${i}.bin`, nbytes: 100_000 + i }));
  const put = (name, file) => run.server.files.set(`/mlc/${name}`, file);
  put('mlc-chat-config.json', text({ model_type: 'llama' }));
  put('tokenizer.json', text('{}'));
  put('ndarray-cache.json', text({ records: shards }));
  for (const { dataPath, nbytes } of shards) put(dataPath, { bytes: madeUpBytes(nbytes, nbytes) });
  const folder = `const engine = await Puna.load('/mlc/'); await engine.close(); return [engine.info.name, engine.info.architecture, engine.info.device.name];`;
  const first = await outcome(page, folder);
  assert.deepEqual(first.slice(0, 2), ['mlc', ['mlc-chat-config.json', 'tokenizer.json', 'ndarray-cache.json', ...shards.map(({ dataPath }) => dataPath)].join(',')]);
  run.server.log.length = 0;
  assert.deepEqual(await outcome(page, folder), first);
  assert.equal(run.server.log.length, 0);
  put('params_shard_3.bin', { bytes: madeUpBytes(5) });
  await outcome(page, `return Puna.models.delete('mlc')`);
  const short = await outcome(page, folder);
  assert.deepEqual([short.code, /5 bytes, but 100003/.test(short.message)], ['corrupt', true]);
  assert.equal((await outcome(page, `return Puna.load('/none/')`)).code, 'not_found');
  await context.close();
});

test('tabs share one engine; when the tab that runs it goes, the next takes over in the middle of an answer', async () => {
  const { context, page: first } = await run.open();
  const second = await run.openPage(context);
  const shared = `const engine = globalThis.engine = await Puna.load('/m.gguf', { share: true, onState: (state) => (globalThis.state = state) }); return [engine.info.device.why, (await engine.memory()).heap_bytes];`;
  assert.deepEqual(await Promise.all([outcome(first, shared), outcome(second, shared)]), [['engine 1', 1], ['engine 1', 1]]);
  // Which of the two leads? The one that has a worker.
  const leader = first.workers().length > 0 ? first : second;
  const other = leader === first ? second : first;
  assert.equal(other.workers().length, 0);
  const rest = `return [await engine.countTokens({ messages: [{ role: 'user', content: 'Hi' }] }), (await engine.embedMedia(new Blob(['x']))).length];`;
  assert.deepEqual(await outcome(other, rest), [1, 4]);
  const chat = { request: { messages: [], seed: 2, fake: { tokens: 60, delay: 20 } } };
  assert.equal((await outcome(leader, read, { request: { ...chat.request, fake: {} } })).text, words(5, 2));
  const answer = outcome(other, read, chat);
  await new Promise((resolve) => setTimeout(resolve, 400));
  await leader.close();
  assert.deepEqual(await answer.then(({ text, ids }) => [text, ids]), [words(60, 2), 1]);
  assert.equal(await other.evaluate(() => globalThis.state.reason), 'the tab that ran the engine was closed');
  assert.equal(other.workers().length, 1);
  const third = await run.openPage(context);
  assert.deepEqual(await outcome(third, shared), ['engine 1', 1]);
  assert.equal(third.workers().length, 0);
  await outcome(other, 'return engine.close()');
  assert.equal((await outcome(third, read, { request: { messages: [], seed: 2 } })).text, words(5, 2));
  await context.close();
});

test('the service worker answers /v1 fetches of the page, after a restart too, and opens the page offline', async () => {
  const { context, page } = await run.open();
  const ready = await outcome(
    page,
    `${load} const link = await Puna.serviceWorker('/service_worker.js', {}); link.serve(engine); await link.keepOffline(); return 'ready';`,
  );
  assert.equal(ready, 'ready', ready.message);
  const post = `const response = await fetch(arg.path, { method: arg.method ?? 'POST', body: arg.body && (typeof arg.body === 'string' ? arg.body : JSON.stringify(arg.body)) });
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };`;
  const chat = (more) => ({ path: '/v1/chat/completions', body: { messages: [], seed: 5, ...more } });
  const whole = await outcome(page, post, chat());
  assert.deepEqual([whole.status, JSON.parse(whole.text).choices[0].message.content], [200, words(5, 5)]);
  const stream = await outcome(page, post, chat({ stream: true }));
  assert.deepEqual([stream.status, stream.type], [200, 'text/event-stream']);
  const events = stream.text.trim().split('\n\n');
  assert.equal(events.at(-1), 'data: [DONE]');
  assert.equal(events.slice(0, -1).map((line) => JSON.parse(line.slice(6)).choices[0].delta.content ?? '').join(''), words(5, 5));
  assert.equal(JSON.parse((await outcome(page, post, { path: '/v1/models', method: 'GET' })).text).data[0].id, 'm.gguf');
  assert.equal(JSON.parse((await outcome(page, post, { path: '/v1/embeddings', body: { input: 'x' } })).text).data.length, 1);
  assert.equal(JSON.parse((await outcome(page, post, { path: '/v1/completions', body: { prompt: 'x', seed: 6 } })).text).choices[0].text, words(5, 6));
  for (const [request, status, match] of [
    [chat({ temperature: -1 }), 400, /temperature/],
    [chat({ temperature: -1, stream: true }), 400, /temperature/],
    [{ path: '/v1/chat/completions', body: '{' }, 400, /not JSON/],
    [{ path: '/v1/chat/completions', body: '[]' }, 400, /not a JSON object/],
    [{ path: '/v1/chat/completions', method: 'GET' }, 405, /POST/],
    [{ path: '/v1/none', body: {} }, 404, /\/v1\/none/],
  ]) {
    const answer = await outcome(page, post, request);
    assert.equal(answer.status, status, answer.text);
    assert.match(JSON.parse(answer.text).error.message, match);
  }
  // The browser ends an idle service worker; its successor asks pages for their engine.
  const session = await context.newCDPSession(page);
  await session.send('ServiceWorker.enable');
  await session.send('ServiceWorker.stopAllWorkers');
  const after = await outcome(page, post, chat());
  assert.deepEqual([after.status, JSON.parse(after.text).choices?.[0].message.content], [200, words(5, 5)]);
  await context.setOffline(true);
  await page.reload();
  await page.waitForFunction(() => globalThis.Puna);
  assert.equal((await outcome(page, `${load} return engine.chat({ messages: [], seed: 5 }).completion()`)).usage.completion_tokens, 5);
  await outcome(page, 'return engine.close()');
  await page.reload();
  const none = await outcome(page, post, chat());
  assert.deepEqual([none.status, /No open page/.test(none.text)], [503, true]);
  await context.close();
});

test('a page that is open when a new service worker takes over goes on serving, and hears what it cannot keep', async () => {
  const { context, page } = await run.open();
  const publish = (before) => fs.writeFileSync(changing, before + fs.readFileSync(path.join(fake, 'service_worker.js'), 'utf8'));
  const models = `const response = await fetch('/v1/models'); return [response.status, (await response.json()).data?.[0].id];`;
  publish('');
  await outcome(page, `${load} globalThis.link = await Puna.serviceWorker('/changing.js'); link.serve(engine); await link.keepOffline();`);
  assert.deepEqual(await outcome(page, models), [200, 'm.gguf']);
  // The second version cannot open its cache.
  publish(`caches.open = () => Promise.reject(new DOMException('no room', 'QuotaExceededError'));`);
  const takenOver = `const changed = new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true }));
    await (await navigator.serviceWorker.getRegistration()).update(); await changed;`;
  await outcome(page, takenOver);
  assert.deepEqual(await outcome(page, models), [200, 'm.gguf']);
  const keep = `return Promise.race([link.keepOffline(), new Promise((resolve) => setTimeout(resolve, 5000, 'nothing came'))]);`;
  assert.equal((await outcome(page, keep)).code, 'quota');
  publish('/* the third */');
  await outcome(page, takenOver);
  assert.equal(await outcome(page, keep), undefined);
  assert.deepEqual(await outcome(page, models), [200, 'm.gguf']);
  await context.close();
});

test('capabilities say what this browser has', async () => {
  const { context, page } = await run.open();
  const found = await outcome(page, 'return Puna.capabilities()');
  assert.deepEqual([found.secureContext, found.simd, found.threads, found.sharing, found.storage.opfs], [true, true, 1, true, true]);
  if (found.gpu) assert.ok(found.gpu.maxBufferBytes > 0);
  await context.close();
});
