// The package with the real engine and a tiny model: broken files, and the example page, which opens offline.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before, beforeEach } from 'node:test';
import { fetched } from '../../build.mjs';
import { outcome, startBrowser } from '../browser/harness.mjs';
import { buildReal } from './real.mjs';

const root = process.cwd(); // bindings/js
const goldens = path.join(root, '../../tests/goldens');
let run, dist;

before(async () => {
  dist = await buildReal();
  const page = path.join(root, '../../examples/page');
  run = await startBrowser({ folders: { '/dist/': dist, '/page/puna/': dist, '/page/service_worker.js': path.join(dist, 'service_worker.js'), '/page/': page } });
});
after(() => run?.stop());
beforeEach(() => {
  run.server.files.clear();
  run.server.log.length = 0;
});

const serve = (pathname, file) => run.server.files.set(pathname, { bytes: fs.readFileSync(file) });

test('what a page fetches for an engine has the size that it may have', () => {
  const engines = fetched(dist);
  assert.ok(engines.length > 0);
  for (const { files, bytes, most } of engines) assert.ok(bytes <= most, `${files.join(' + ')}: ${bytes} bytes with gzip -9, ${most} at most`);
});

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

// Texts long enough that the second request comes while the first is answered: a turn on the CPU takes 10 ms.
test('chats that run at the same time give the texts that they give alone', async () => {
  serve('/llama.gguf', path.join(goldens, 'llama-q4_0.gguf'));
  const { context, page } = await run.open();
  const texts = await outcome(
    page,
    `const requests = [3, 20, 41].map((n, seed) => ({ prompt: Array.from({ length: n }, (_, i) => (i * 7 + seed) % 90 + 3), max_tokens: 160 - 40 * seed,
       temperature: seed, seed, ignore_eos: true, return_tokens: true }));
     const order = [];
     const text = async (engine, request, name) => {
       const tokens = [];
       for await (const chunk of engine.complete(request)) {
         tokens.push(...(chunk.tokens ?? []));
         order.push(name);
       }
       return tokens;
     };
     const engine = await Puna.load(arg, { device: 'cpu', numerics: 'exact', parallel: 2 });
     const together = await Promise.all(requests.map((request, i) => text(engine, request, i)));
     const mixed = order.indexOf(1) < order.lastIndexOf(0);
     const alone = [];
     for (const request of requests) alone.push(await text(engine, request));
     const { parallel } = engine.info;
     await engine.close();
     return { together, alone, mixed, parallel };`,
    '/llama.gguf',
  );
  assert.equal(texts.parallel, 2, JSON.stringify(texts));
  assert.deepEqual(texts.together.map((tokens) => tokens.length), [160, 120, 80]);
  assert.deepEqual(texts.together, texts.alone);
  assert.ok(texts.mixed, 'the first two run together; the third waits until one of them ends, or its reader is behind');
  await context.close();
});

test('a reader that is behind pauses its text, and gets all of it in the end', async () => {
  serve('/llama.gguf', path.join(goldens, 'llama-q4_0.gguf'));
  const { context, page } = await run.open();
  const seen = await outcome(
    page,
    `let events = 0;
     const listen = Worker.prototype.addEventListener;
     Worker.prototype.addEventListener = function (type, handler) {
       listen.call(this, type, (event) => { events += event.data.type === 'event'; handler(event); });
     };
     const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
     const engine = await Puna.load(arg, { device: 'cpu' });
     events = 0;
     let n = 0, paused = [];
     for await (const chunk of engine.complete({ prompt: [3, 4, 5], max_tokens: 200, ignore_eos: true, return_tokens: true })) {
       n += chunk.tokens?.length ?? 0;
       if (n !== 1) continue;
       await pause(400);
       paused.push(events);
       await pause(400);
       paused.push(events);
     }
     await engine.close();
     return { n, paused };`,
    '/llama.gguf',
  );
  assert.equal(seen.n, 200, JSON.stringify(seen));
  assert.equal(seen.paused[0], seen.paused[1]);
  assert.equal(seen.paused[1], 64); // kMostUnread of rpc/messages.ts
  await context.close();
});

// A template that shows tools in the way of a family, as short as the model's context.
// Of Llama 3's family, whose models do not think before they call: others may, until max_tokens cuts them off.
const kTemplate = '{# <|start_header_id|> "parameters" #}{% for t in tools or [] %}{{ t.function.name }} {% endfor %}{% for m in messages %}{{ m.content }}\n{% endfor %}';

test('answers fit a schema, a grammar or a tool, and what they cannot be bound to is refused with why', async () => {
  const folder = path.join(goldens, 'small_llama-bf16');
  for (const name of fs.readdirSync(folder)) serve(`/model/${name}`, path.join(folder, name));
  const config = JSON.parse(fs.readFileSync(path.join(folder, 'tokenizer_config.json'), 'utf8'));
  run.server.files.set('/model/tokenizer_config.json', { bytes: Buffer.from(JSON.stringify({ ...config, chat_template: kTemplate })) });
  const schema = {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 8 }, days: { type: 'integer', minimum: 1, maximum: 31 }, unit: { enum: ['c', 'f'] } },
    required: ['city', 'days', 'unit'],
    additionalProperties: false,
  };
  const { context, page } = await run.open();
  const seen = await outcome(
    page,
    `const engine = await Puna.load('/model/', { device: 'cpu' });
     const messages = [{ role: 'user', content: 'Hi' }];
     const sampling = { temperature: 2, top_k: 0, top_p: 1, min_p: 0, max_tokens: 240 };
     const tools = ['get_weather', 'now'].map((name, i) => ({ type: 'function', function: { name, ...(i === 0 ? { parameters: arg } : {}) } }));
     const ask = (request, seed = 0) => engine.chat({ messages, ...sampling, seed, ...request }).completion();
     const out = { forms: [], calls: [], refused: [] };
     for (let seed = 0; seed < 6; ++seed) {
       const form = await ask({ response_format: { type: 'json_schema', json_schema: { name: 'form', schema: arg, strict: true } } }, seed);
       out.forms.push(form.choices[0]);
       const call = await ask({ tools, tool_choice: { type: 'function', function: { name: 'get_weather' } } }, seed);
       out.calls.push(call.choices[0]);
     }
     out.grammar = (await engine.complete({ prompt: 'x', ...sampling, seed: 3, grammar: 'root ::= "yes" | "no"' }).completion()).choices[0];
     for (const request of [
       { response_format: { type: 'json_schema', json_schema: { name: 'form', schema: { type: 'array', uniqueItems: true, items: { type: 'string' } } } } },
       { grammar: 'root ::= (' },
       { tools: [{ type: 'function', function: { name: 'f', parameters: { disallow: 'string' } } }] },
       { tools, tool_choice: { type: 'function', function: { name: 'other' } } },
     ]) out.refused.push(await ask(request).then(() => 'answered', ({ code, message }) => ({ code, message })));
     // Nothing of that is in the way of the next answer.
     out.free = (await ask({})).choices[0].finish_reason;
     await engine.close();
     return out;`,
    schema,
  );
  const fits = (text) => {
    const { city, days, unit, ...more } = JSON.parse(text);
    assert.ok(typeof city === 'string' && [...city].length <= 8 && days >= 1 && days <= 31 && ['c', 'f'].includes(unit), text);
    assert.deepEqual(more, {});
  };
  assert.equal(seen.forms?.length, 6, JSON.stringify(seen));
  for (const { message, finish_reason } of seen.forms) {
    assert.equal(finish_reason, 'stop');
    fits(message.content);
  }
  for (const { message, finish_reason } of seen.calls) {
    assert.equal(finish_reason, 'tool_calls', JSON.stringify(message));
    assert.deepEqual(message.tool_calls.map((call) => call.function.name), ['get_weather']);
    fits(message.tool_calls[0].function.arguments);
  }
  assert.match(seen.grammar.text, /^(yes|no)$/);
  for (const { code } of seen.refused) assert.match(`${code}`, /^(invalid_argument|unsupported)$/, JSON.stringify(seen.refused));
  for (const [i, what] of [/uniqueItems/, /Line 1, column/, /disallow.*"f"/s, /other/].entries()) assert.match(seen.refused[i].message, what);
  assert.match(seen.free, /^(stop|length)$/);
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
