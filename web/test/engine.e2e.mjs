// The engine's half of the page, in Chromium against a real `puna serve`: what the sandbox lets scripts do and what not;
// and an answer whose connection is cut again and again, whose text equals that of an uncut run, byte for byte.
//   PUNA_URL=http://127.0.0.1:8080 node test/engine.e2e.mjs [CUTS]
// CUTS (20) is how often the connection is cut, at bytes drawn from a fixed seed. `tools/test_web whole` starts the server.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { chromium } from 'playwright-core';
import { build } from 'vite';

// Everything ends by then, on a machine that is busy too.
const LIMIT_MS = 20 * 60_000;

const url = new URL(process.env.PUNA_URL ?? 'http://127.0.0.1:8080');
const cuts = Number(process.argv[2] ?? 20);
const browsers = [
  process.env.PUNA_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = browsers.find((path) => path && existsSync(path));
if (!executablePath) {
  console.log('SKIPPED: there is no Chromium.');
  process.exit(0);
}

const body = {
  messages: [{ role: 'user', content: 'Tell me a story about an island, with ünïcödé: 🌴 日本語.' }],
  temperature: 0,
  ignore_eos: true,
  max_tokens: 6 * cuts,
  // A prompt that is known is evaluated in other steps, whose sums differ in their last bits.
  cache_prompt: false,
};

// So that a failure can be had again.
let seed = 20_260_731;
function random(least, most) {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return least + Math.floor((seed / 2 ** 32) * (most - least + 1));
}

async function script() {
  const entry = new URL('engine_page.ts', import.meta.url).pathname;
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    build: { write: false, target: 'es2022', lib: { entry, formats: ['es'], fileName: 'page' } },
  });
  const output = Array.isArray(built) ? built[0] : built;
  if (!output || !('output' in output)) throw new Error('Nothing was built.');
  return output.output[0].code;
}

// Before the server: gives the page, and hands on everything else. Streams are cut after some bytes, wherever that is,
// until there were enough cuts.
function cutting(target, code) {
  const seen = { cuts: 0, resumed: 0, reached: 0 };
  const sandbox = readFileSync(new URL('../static/sandbox/index.html', import.meta.url));
  const proxy = http.createServer((request, response) => {
    if (request.url === '/page') {
      return response
        .setHeader('content-type', 'text/html')
        .end('<!doctype html><title>test</title><script type="module" src="/page.js"></script>');
    }
    if (request.url === '/page.js') return response.setHeader('content-type', 'text/javascript').end(code);
    if (request.url === '/sandbox/index.html') return response.setHeader('content-type', 'text/html').end(sandbox);
    if (request.url === '/reached') return response.end(String(++seen.reached));
    if (request.url?.startsWith('/v1/stream?')) ++seen.resumed;
    const { host: _, ...headers } = request.headers;
    const onward = http.request(
      { host: target.hostname, port: target.port, path: request.url, method: request.method, headers },
      (reply) => {
        const isStream = reply.headers['content-type']?.startsWith('text/event-stream') ?? false;
        let left = isStream && seen.cuts < cuts ? random(1, 900) : Infinity;
        response.writeHead(reply.statusCode, reply.headers);
        reply.on('data', (bytes) => {
          if (left === 0) return;
          response.write(bytes.subarray(0, Math.min(left, bytes.length)));
          left = Math.max(0, left - bytes.length);
          if (left > 0) return;
          ++seen.cuts;
          // What was written has to arrive: the cut is behind it.
          response.write('', () => response.socket?.destroy());
          onward.destroy();
        });
        reply.on('end', () => left > 0 && response.end());
      },
    );
    onward.on('error', () => response.socket?.destroy());
    request.pipe(onward);
  });
  return new Promise((resolve) => {
    proxy.listen(0, '127.0.0.1', () => resolve({ proxy, seen, origin: `http://127.0.0.1:${proxy.address().port}` }));
  });
}

async function uncut(model) {
  const response = await fetch(new URL('/v1/chat/completions', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, model }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).choices[0].message.content;
}

// The text of a stream that the server has kept, in one piece.
async function kept(streamId) {
  const response = await fetch(new URL(`/v1/stream?conv_id=${streamId}&from=0`, url));
  assert.equal(response.status, 200);
  const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: {'));
  return events.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? '').join('');
}

// [script, what comes of it].
function scripts(origin) {
  return [
    ['6 * 7', /^42$/],
    ['console.log("a", [1, { b: 2 }]); const x = await Promise.resolve(3); return x', /^a \[1,\{"b":2\}\]\n3$/],
    ['null.x', /^failed: TypeError/],
    ['const = 1', /^failed: SyntaxError/],
    ['undefined', /^\(nothing was printed\)$/],
    ['const a = {}; a.a = a; a', /again/],
    [`await fetch('${origin}/reached')`, /^failed: TypeError/],
    [`importScripts('${origin}/reached')`, /^failed: /],
    [
      `const s = new WebSocket('${origin.replace('http', 'ws')}/reached');
      await new Promise((ok, no) => ((s.onopen = ok), (s.onerror = () => no(new Error('closed')))))`,
      /^failed: /,
    ],
    ['typeof document + typeof window + typeof parent', /^undefinedundefinedundefined$/],
    ['self.origin', /^null$/],
    [
      'const r = indexedDB.open("x"); await new Promise((ok, no) => ((r.onsuccess = ok), (r.onerror = () => no(r.error))))',
      /^failed: /,
    ],
    ['await caches.open("x")', /^failed: /],
    ['console.log("x".repeat(1e6))', /^x+$/],
  ];
}

async function testSandbox(tab, origin) {
  for (const [code, expected] of scripts(origin)) {
    const result = String(await tab.evaluate(`script(${JSON.stringify(code)})`));
    assert.match(result, expected, `${code} gave ${result.slice(0, 200)}`);
  }
  assert.match(String(await tab.evaluate('script("for (;;);", 500)')), /stopped after 0\.5 seconds/);
  // Markup of a model: it runs, without an origin and without reaching the page or the network.
  const markup = `<p id=p>shown</p><img src="${origin}/reached"><script>
    let out = self.origin;
    try { out += parent.document.title } catch { out += ' apart' }
    fetch('${origin}/reached').catch(() => (p.textContent = out + ' offline'));
  </script>`;
  await tab.evaluate(`document.body.append(preview(${JSON.stringify(markup)}, 'Preview'))`);
  await tab.frameLocator('iframe[title=Preview]').getByText('null apart offline').waitFor();
  assert.equal(await tab.locator('iframe').count(), 1, 'Frames of scripts are removed.');
}

const limit = setTimeout(() => {
  console.error('FAILED: it did not end in time.');
  process.exit(1);
}, LIMIT_MS);
const { proxy, seen, origin } = await cutting(url, await script());
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const tab = await browser.newPage();
  tab.on('pageerror', (error) => console.error(error));
  await tab.goto(`${origin}/page`);
  await tab.waitForFunction('typeof answer === "function"');
  await testSandbox(tab, origin);
  assert.equal(seen.reached, 0, 'Nothing of the sandbox reaches the network.');
  console.log('ok: the sandbox');

  const model = (await (await fetch(new URL('/v1/models', url))).json()).data[0].id;
  const expected = await uncut(model);
  assert.ok(expected.length > 100, `The uncut answer is short: ${expected}`);
  const { messages, ...parameters } = body;
  const request = { model, messages, parameters, tools: [], continues: false, streamId: `cut-${Date.now()}` };
  const told = await tab.evaluate(`answer(${JSON.stringify(request)})`);
  assert.equal(seen.cuts, cuts);
  // Cuts in a row, without a whole event between them, are one loss.
  assert.ok(told.lost > 0 && told.lost <= cuts, `${told.lost} losses`);
  assert.equal(seen.resumed, cuts);
  // The same as one reader without cuts is given, and as another run writes.
  assert.equal(told.text, await kept(request.streamId));
  assert.equal(told.text, expected);
  assert.equal(told.reason, 'length');
  console.log(`ok: ${cuts} cuts, ${told.offset} bytes, ${expected.length} characters equal those of the uncut run`);
} finally {
  await browser.close();
  proxy.close();
  proxy.closeAllConnections();
  clearTimeout(limit);
}
