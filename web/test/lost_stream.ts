// Cuts the connection of one answer again and again, in Chromium against a real `puna serve`: the text equals that of an uncut run,
// byte for byte.
//   node test/lost_stream.ts PUNA [MODEL] [CUTS]
// PUNA is the program; MODEL (smollm2) what it serves; CUTS (20) how often the connection is cut, at bytes drawn from a fixed seed.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { build } from 'vite';
import type { Told } from './lost_stream_page.ts';

// Everything ends by then, on a machine that is busy too.
const LIMIT_MS = 20 * 60_000;

const [puna, model = 'smollm2', cutsText = '20'] = process.argv.slice(2);
if (!puna) throw new Error('Usage: node test/lost_stream.ts PUNA [MODEL] [CUTS]');
const cuts = Number(cutsText);
const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!browserPath) {
  console.log('SKIPPED: there is no Chromium.');
  process.exit(0);
}

const body = {
  messages: [{ role: 'user', content: 'Tell me a story about an island, with ünïcödé: 🌴 日本語.' }],
  temperature: 0,
  ignore_eos: true,
  max_tokens: 6 * cuts,
};

// So that a failure can be had again.
let seed = 20_260_731;
function random(least: number, most: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return least + Math.floor((seed / 2 ** 32) * (most - least + 1));
}

function serve(program: string): Promise<{ child: ChildProcess; url: URL }> {
  const args = ['serve', '--model', model, '--device', 'cpu', '--port', '0', '--ctx-size', '2048', '--offline'];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`puna serve ended with ${code}.`)));
    child.on('error', reject);
    for (const stream of [child.stdout!, child.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => {
        const address = /is served on (http:\S+)/.exec(line)?.[1];
        if (address) resolve({ child, url: new URL(address) });
      });
    }
  });
}

async function script(): Promise<string> {
  const entry = new URL('lost_stream_page.ts', import.meta.url).pathname;
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    build: { write: false, target: 'es2022', lib: { entry, formats: ['es'], fileName: 'page' } },
  });
  const output = Array.isArray(built) ? built[0] : built;
  if (!output || !('output' in output)) throw new Error('Nothing was built.');
  return output.output[0].code;
}

// Before the server: gives the page, and hands on everything else. Streams are cut after some bytes, wherever that is, until there
// were enough cuts.
function cutting(target: URL, code: string) {
  const seen = { cuts: 0, resumed: 0 };
  const proxy = http.createServer((request, response) => {
    if (request.url === '/page') {
      return response.setHeader('content-type', 'text/html').end('<!doctype html><title>test</title><script type="module" src="/page.js"></script>');
    }
    if (request.url === '/page.js') return response.setHeader('content-type', 'text/javascript').end(code);
    if (request.url?.startsWith('/v1/stream?')) ++seen.resumed;
    const { host: _, ...headers } = request.headers;
    const onward = http.request({ host: target.hostname, port: target.port, path: request.url, method: request.method, headers }, (reply) => {
      const isStream = reply.headers['content-type']?.startsWith('text/event-stream') ?? false;
      let left = isStream && seen.cuts < cuts ? random(1, 900) : Infinity;
      response.writeHead(reply.statusCode!, reply.headers);
      reply.on('data', (bytes: Buffer) => {
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
    });
    onward.on('error', () => response.socket?.destroy());
    request.pipe(onward);
  });
  return new Promise<{ proxy: http.Server; seen: typeof seen; url: string }>((resolve) => {
    proxy.listen(0, '127.0.0.1', () => resolve({ proxy, seen, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }));
  });
}

async function uncut(url: URL): Promise<string> {
  const response = await fetch(new URL('/v1/chat/completions', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, model }),
  });
  assert.equal(response.status, 200);
  const reply = (await response.json()) as { choices: { message: { content: string } }[] };
  return reply.choices[0]!.message.content;
}

const limit = setTimeout(() => {
  console.error('FAILED: it did not end in time.');
  process.exit(1);
}, LIMIT_MS);
const { child, url } = await serve(puna);
process.on('exit', () => child.kill());
const { proxy, seen, url: page } = await cutting(url, await script());
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
try {
  const expected = await uncut(url);
  assert.ok(expected.length > 200, `The uncut answer is short: ${expected}`);
  const tab = await browser.newPage();
  tab.on('pageerror', (error) => console.error(error));
  await tab.goto(`${page}/page`);
  await tab.waitForFunction('typeof answer === "function"');
  const { messages, ...parameters } = body;
  const request = { model, messages, parameters, tools: [], continues: false, streamId: 'lost-stream' };
  const told = (await tab.evaluate(`answer(${JSON.stringify(request)})`)) as Told;
  assert.equal(seen.cuts, cuts);
  // Cuts in a row, without a whole event between them, are one loss.
  assert.ok(told.lost > 0 && told.lost <= cuts, `${told.lost} losses`);
  assert.equal(seen.resumed, cuts);
  assert.equal(told.text, expected);
  assert.equal(told.reason, 'length');
  console.log(`ok: ${cuts} cuts, ${told.offset} bytes, ${expected.length} characters equal those of the uncut run`);
} finally {
  await browser.close();
  proxy.close();
  proxy.closeAllConnections();
  child.removeAllListeners('exit');
  child.kill();
  clearTimeout(limit);
}
