// Puna beside wllama in headless Chromium: the same GGUF, the same prompts, engines in turn, each in a browser of its own.
//   node bench/browser/compare.mjs MODEL.gguf --wllama DIR [--device cpu|gpu] [--rounds 3] [--prompt 512] [--decode 128] [--json OUT]
// DIR is the unpacked npm package @wllama/wllama (npm pack). Puna is bindings/js/dist (npm run build there). CHROMIUM names another
// program than /usr/bin/chromium. A round is: first visit (download and load), second visit (load from the browser's storage), the first
// token of a prompt of 32 words, a prompt of --prompt words, --decode tokens; memory is the proportional set size of all processes of
// that browser, sampled every 50 ms. Prompts begin with a number of their own, so that no cache of prefixes helps.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import zlib from 'node:zlib';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const { chromium } = createRequire(path.join(root, 'bindings/js/package.json'))('playwright-core');
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    wllama: { type: 'string' },
    device: { type: 'string', default: 'cpu' },
    rounds: { type: 'string', default: '3' },
    prompt: { type: 'string', default: '512' },
    decode: { type: 'string', default: '128' },
    context: { type: 'string', default: '2048' },
    json: { type: 'string' },
  },
});
if (positionals.length !== 1 || !['cpu', 'gpu'].includes(flags.device)) {
  console.error('usage: node bench/browser/compare.mjs MODEL.gguf --wllama DIR [--device cpu|gpu] [--rounds N] [--prompt N] [--decode N] [--json OUT]');
  process.exit(2);
}
const model = positionals[0];
const folders = { '/puna/': path.join(root, 'bindings/js/dist'), ...(flags.wllama && { '/wllama/': path.resolve(flags.wllama, 'esm') }) };
const kTypes = { '.js': 'text/javascript', '.wasm': 'application/wasm' };

// What each engine does, in the page. load() gives what it says of itself; run() streams a completion and gives its pieces' times.
const kEngines = {
  puna: `
    const { Puna } = await import('/puna/index.js');
    let engine;
    return {
      async load(o) {
        engine = await Puna.load('/model.gguf', { device: o.device, context: o.context, persist: false });
        return { device: engine.info.device, threads: engine.info.threads };
      },
      async run(prompt, n, onPiece) {
        let last;
        for await (const chunk of engine.complete({ prompt, max_tokens: n, temperature: 0, ignore_eos: true })) { last = chunk; if (chunk.choices[0].text) onPiece(); }
        return { prompt_tokens: last.usage.prompt_tokens, tokens: last.usage.completion_tokens };
      },
    };`,
  wllama: `
    const { Wllama } = await import('/wllama/index.js');
    const engine = new Wllama({ default: '/wllama/wasm/wllama.wasm' });
    return {
      async load(o) {
        await engine.loadModelFromUrl(location.origin + '/model.gguf', { n_ctx: o.context, n_batch: 512, n_threads: o.cores, n_gpu_layers: o.device === 'gpu' ? 999 : 0 });
        return { threads: engine.getNumThreads(), multithread: engine.isMultithread() };
      },
      async run(prompt, n, onPiece) {
        let timings = null, tokens = 0;
        await engine.createCompletion({ prompt, max_tokens: n, temperature: 0, ignore_eos: true, cache_prompt: false, stream: true, timings_per_token: true,
          onData: (d) => { if (d.choices?.[0]?.text) { ++tokens; onPiece(); } timings = d.timings ?? timings; } });
        return { prompt_tokens: timings?.prompt_n ?? 0, tokens: timings?.predicted_n ?? tokens };
      },
    };`,
};

const server = http.createServer((request, response) => {
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
  const url = new URL(request.url, 'http://server').pathname;
  if (url === '/') return response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>compare</title>');
  const prefix = Object.keys(folders).find((p) => url.startsWith(p));
  const file = url === '/model.gguf' ? model : prefix ? path.join(folders[prefix], path.normalize(url.slice(prefix.length))) : '';
  if (!fs.existsSync(file)) return response.writeHead(404).end();
  const size = fs.statSync(file).size;
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const [from, to] = range ? [Number(range[1]), range[2] ? Math.min(Number(range[2]), size - 1) : size - 1] : [0, size - 1];
  response.setHeader('Content-Type', kTypes[path.extname(file)] ?? 'application/octet-stream').setHeader('Content-Length', to - from + 1).setHeader('Accept-Ranges', 'bytes').setHeader('ETag', '"model"');
  if (range) response.setHeader('Content-Range', `bytes ${from}-${to}/${size}`);
  response.writeHead(range ? 206 : 200);
  if (request.method === 'HEAD') return response.end();
  fs.createReadStream(file, { start: from, end: to, highWaterMark: 1 << 20 }).pipe(response);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${server.address().port}/`;

// Proportional set size in MiB of the processes that use this profile folder.
function pss(profile) {
  let total = 0;
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`PUNA_BENCH=${profile}`)) continue;
      total += Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0) / 1024;
    } catch {
      // it has ended
    }
  }
  return total;
}

const kWords = 'time year people way day man thing woman life child world school state family student group'.split(' ');
const promptOf = (words) => `Run ${100 + Math.floor(Math.random() * 900)}: ${Array.from({ length: words }, () => kWords[Math.floor(Math.random() * kWords.length)]).join(' ')}`;

async function measure(engine) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'puna-bench-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    ignoreDefaultArgs: ['--disable-gpu'],
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--enable-unsafe-webgpu'],
    env: { ...process.env, PUNA_BENCH: profile },
  });
  let peak = 0;
  const sampler = setInterval(() => (peak = Math.max(peak, pss(profile))), 50);
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    const open = async () => {
      await page.goto(origin);
      return page.evaluate(
        async ([code, options]) => {
          const t = performance.now();
          globalThis.engine = await new Function(`return (async () => { ${code} })()`)();
          const said = await globalThis.engine.load({ ...options, cores: navigator.hardwareConcurrency });
          return { ms: performance.now() - t, said };
        },
        [kEngines[engine], { device: flags.device, context: Number(flags.context) }],
      );
    };
    const run = (prompt, n) =>
      page.evaluate(
        async ([text, count]) => {
          const t = performance.now();
          const pieces = [];
          const counts = await globalThis.engine.run(text, count, () => pieces.push(performance.now() - t));
          return { ...counts, first_ms: pieces[0], last_ms: pieces.at(-1), all_ms: performance.now() - t };
        },
        [prompt, n],
      );
    await page.goto(origin);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const empty = pss(profile);
    const first = await open();
    const second = await open();
    peak = 0;
    const short = await run(promptOf(32), 1);
    const long = await run(promptOf(Number(flags.prompt)), 1);
    const decode = await run(promptOf(8), Number(flags.decode));
    return {
      said: second.said,
      first_visit_ms: first.ms,
      load_ms: second.ms,
      first_token_ms: short.all_ms,
      prefill_tokens: long.prompt_tokens,
      prefill_tokens_per_s: (long.prompt_tokens * 1000) / long.all_ms,
      decode_tokens_per_s: ((decode.tokens - 1) * 1000) / (decode.last_ms - decode.first_ms),
      empty_mib: empty,
      peak_mib: peak,
    };
  } finally {
    clearInterval(sampler);
    await context.close().catch(() => undefined);
    fs.rmSync(profile, { recursive: true, force: true });
  }
}

const gzipped = (files) => files.reduce((sum, file) => sum + zlib.gzipSync(fs.readFileSync(file), { level: 9 }).length, 0);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const engines = Object.keys(kEngines).filter((name) => folders[`/${name}/`]);
const rounds = Object.fromEntries(engines.map((name) => [name, []]));
for (let round = 0; round < Number(flags.rounds); ++round) {
  for (const name of engines) {
    const result = await measure(name);
    rounds[name].push(result);
    console.error(`${name}: ${JSON.stringify(result)}`);
  }
}
const transfer = {
  puna: gzipped(['index.js', 'worker.js', 'puna.js', 'puna.wasm'].map((file) => path.join(folders['/puna/'], file))),
  ...(flags.wllama && { wllama: gzipped(['index.min.js', 'wasm/wllama.wasm'].map((file) => path.join(folders['/wllama/'], file))) }),
};
const keys = ['first_visit_ms', 'load_ms', 'first_token_ms', 'prefill_tokens_per_s', 'decode_tokens_per_s', 'peak_mib', 'empty_mib'];
const medians = Object.fromEntries(engines.map((name) => [name, Object.fromEntries(keys.map((key) => [key, median(rounds[name].map((r) => r[key]))]))]));
const line = (cells) => console.log(cells.map((cell, i) => String(cell).padStart(i ? 14 : 0).padEnd(i ? 0 : 24)).join(''));
line(['median of ' + flags.rounds, ...engines]);
for (const key of keys) line([key, ...engines.map((name) => medians[name][key].toFixed(1))]);
line(['engine, gzip bytes', ...engines.map((name) => transfer[name])]);
if (flags.json) fs.writeFileSync(flags.json, JSON.stringify({ model: path.basename(model), device: flags.device, transfer, medians, rounds }, null, 1) + '\n');
server.close();
