// Puna beside wllama in headless Chromium: the same GGUF, the same prompts, engines in turn, each in a browser of its own.
//   node bench/browser/compare.mjs MODEL.gguf --wllama DIR [--device cpu|gpu] [--threads N] [--rounds 3] [--prompt 512] [--decode 128]
//     [--json OUT]
// DIR is the unpacked npm package @wllama/wllama (npm pack). Puna is bindings/js/dist (npm run build there). CHROMIUM names another
// program than /usr/bin/chromium. Both compute with N threads on the CPU, all hardware threads unless set. A round is three visits, each in
// a browser started anew: a first one (download and load); a second one (load from the browser's storage, the first token of a prompt of
// 32 words, a prompt of --prompt words, --decode tokens); a third one, which does the same for its memory: the largest proportional set size
// of all processes of the browser, that of the empty page before, and the largest JavaScript heaps of the page and its workers
// (js_heap.mjs).
// Prompts begin with a number of their own, so that no cache of prefixes helps.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import zlib from 'node:zlib';
import { root, withChromium, withProfile } from './chromium.mjs';
import { JsHeap } from './js_heap.mjs';
import { median } from './median.mjs';
import { startServer } from './server.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    wllama: { type: 'string' },
    device: { type: 'string', default: 'cpu' },
    threads: { type: 'string', default: String(os.availableParallelism()) },
    rounds: { type: 'string', default: '3' },
    prompt: { type: 'string', default: '512' },
    decode: { type: 'string', default: '128' },
    context: { type: 'string', default: '2048' },
    json: { type: 'string' },
  },
});
const threads = Number(flags.threads);
if (positionals.length !== 1 || !['cpu', 'gpu'].includes(flags.device) || !(Number.isInteger(threads) && threads >= 1 && threads <= 64)) {
  console.error('usage: node bench/browser/compare.mjs MODEL.gguf --wllama DIR [--device cpu|gpu] [--threads 1..64] [--rounds N] [--prompt N] [--decode N] [--json OUT]');
  process.exit(2);
}
const model = positionals[0];
const folders = { '/puna/': path.join(root, 'bindings/js/dist'), '/page/': path.join(root, 'bench/browser/page'), ...(flags.wllama && { '/wllama/': path.resolve(flags.wllama, 'esm') }) };

const several = flags.device === 'cpu' && threads > 1;
if (several && !fs.existsSync(path.join(folders['/puna/'], 'puna-mt.wasm'))) {
  console.error('error: bindings/js/dist has no puna-mt.wasm, which several threads need: build the preset wasm-mt, then the package.');
  process.exit(2);
}

// What each engine does, in the page. load() gives what it says of itself; run() streams a completion and gives its pieces' times.
const kEngines = {
  puna: `
    const { Puna } = await import('/puna/index.js');
    let engine;
    return {
      async load(o) {
        engine = await Puna.load('/model.gguf', { device: o.device, context: o.context, threads: o.threads, persist: false });
        return { device: engine.info.device, threads: engine.info.threads, memory: engine.info.memory };
      },
      async run(prompt, n, onPiece) {
        let last;
        for await (const chunk of engine.complete({ prompt, max_tokens: n, temperature: 0, ignore_eos: true })) { last = chunk; if (chunk.choices[0].text) onPiece(); }
        return { prompt_tokens: last.usage.prompt_tokens, tokens: last.usage.completion_tokens };
      },
    };`,
  wllama: `
    const { Wllama } = await import('/wllama/index.js');
    const placement = []; // only its log tells where its weights are: WebGPU may be there and not be used
    const note = (...parts) => { const line = parts.join(' ').trim(); if (/offload|model buffer size/i.test(line)) placement.push(line); };
    const engine = new Wllama({ default: '/wllama/wasm/wllama.wasm' }, { logger: { debug: note, log: note, warn: note, error: note } });
    return {
      async load(o) {
        await engine.loadModelFromUrl(location.origin + '/model.gguf', { n_ctx: o.context, n_batch: 512, n_threads: o.threads, n_gpu_layers: o.device === 'gpu' ? 999 : 0 });
        return { threads: engine.getNumThreads(), multithread: engine.isMultithread(), placement };
      },
      async run(prompt, n, onPiece) {
        let timings = null, tokens = 0;
        await engine.createCompletion({ prompt, max_tokens: n, temperature: 0, ignore_eos: true, cache_prompt: false, stream: true, timings_per_token: true,
          onData: (d) => { if (d.choices?.[0]?.text) { ++tokens; onPiece(); } timings = d.timings ?? timings; } });
        return { prompt_tokens: timings?.prompt_n ?? 0, tokens: timings?.predicted_n ?? tokens };
      },
    };`,
};

const server = await startServer({
  folders,
  files: { '/model.gguf': model },
  handlers: { '/': (_, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>compare</title>') },
});
const origin = `${server.origin}/`;

// Of a file of /proc/PID; empty once the process has ended.
function procText(pid, name) {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

// Proportional set size in MiB of the browser with this profile folder and all that descends from it: pages' processes overwrite the
// environment that they got.
function pss(profile) {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(pids.map((pid) => [pid, /\) \S (\d+)/.exec(procText(pid, 'stat'))?.[1]]));
  const ours = new Set(pids.filter((pid) => procText(pid, 'environ').includes(`PUNA_BENCH=${profile}`)));
  const belongs = (pid) => pid !== undefined && (ours.has(pid) || belongs(parents.get(pid)));
  return pids.filter(belongs).reduce((sum, pid) => sum + Number(/^Pss:\s+(\d+)/m.exec(procText(pid, 'smaps_rollup'))?.[1] ?? 0) / 1024, 0);
}

const kWords = 'time year people way day man thing woman life child world school state family student group'.split(' ');
const promptOf = (words) => `Run ${100 + Math.floor(Math.random() * 900)}: ${Array.from({ length: words }, () => kWords[Math.floor(Math.random() * kWords.length)]).join(' ')}`;

// Of the browser and its adapter, in a browser of its own: a process for the GPU costs memory.
const facts = await withProfile((profile) =>
  withChromium(profile, async (page) => {
    await page.goto(origin);
    return page.evaluate(async () => (await import('/page/facts.js')).deviceFacts());
  }),
);

// Loads the model in a fresh page: how long that takes, and what the engine says of itself.
async function load(page, engine) {
  await page.goto(origin);
  return page.evaluate(
    async ([code, options]) => {
      const t = performance.now();
      globalThis.engine = await new Function(`return (async () => { ${code} })()`)();
      const said = await globalThis.engine.load(options);
      return { ms: performance.now() - t, said };
    },
    [kEngines[engine], { device: flags.device, context: Number(flags.context), threads }],
  );
}

// Streams a completion of n tokens.
function run(page, prompt, n) {
  return page.evaluate(
    async ([text, count]) => {
      const t = performance.now();
      const pieces = [];
      const counts = await globalThis.engine.run(text, count, () => pieces.push(performance.now() - t));
      return { ...counts, first_ms: pieces[0], last_ms: pieces.at(-1), all_ms: performance.now() - t };
    },
    [prompt, n],
  );
}

// Loads the model from the browser's storage and asks for three texts: times of it all.
async function measureSpeed(page, engine) {
  const loaded = await load(page, engine);
  const short = await run(page, promptOf(32), 1);
  const long = await run(page, promptOf(Number(flags.prompt)), 1);
  const decode = await run(page, promptOf(8), Number(flags.decode));
  return {
    said: loaded.said,
    load_ms: loaded.ms,
    first_token_ms: short.all_ms,
    prefill_tokens: long.prompt_tokens,
    prefill_tokens_per_s: (long.prompt_tokens * 1000) / long.all_ms,
    decode_tokens_per_s: ((decode.tokens - 1) * 1000) / (decode.last_ms - decode.first_ms),
  };
}

// The same again for its memory alone: reading the maps of processes holds them up.
async function measureMemory(page, profile, engine) {
  const heap = await JsHeap.of(page);
  await page.goto(origin);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const empty = pss(profile);
  let peak = 0;
  let done = false;
  const work = measureSpeed(page, engine).finally(() => (done = true));
  while (!done) {
    peak = Math.max(peak, pss(profile));
    await heap.sample();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await work;
  await heap.sample();
  return { empty_mib: empty, peak_mib: peak, js_heap_mib: heap.peak / 2 ** 20 };
}

const measure = (engine) =>
  withProfile(async (profile) => {
    const first = await withChromium(profile, (page) => load(page, engine));
    const second = await withChromium(profile, (page) => measureSpeed(page, engine));
    const third = await withChromium(profile, (page) => measureMemory(page, profile, engine));
    return { first_visit_ms: first.ms, ...second, ...third };
  });

const gzipped = (files) => files.reduce((sum, file) => sum + zlib.gzipSync(fs.readFileSync(file), { level: 9 }).length, 0);
const engines = Object.keys(kEngines).filter((name) => folders[`/${name}/`]);
const rounds = Object.fromEntries(engines.map((name) => [name, []]));
for (let round = 0; round < Number(flags.rounds); ++round) {
  for (const name of engines) {
    const result = await measure(name);
    rounds[name].push(result);
    console.error(`${name}: ${JSON.stringify(result)}`);
  }
}
// What is fetched of each engine.
const transfer = {
  puna: gzipped(['index.js', 'worker.js', ...(several ? ['puna-mt.js', 'puna-mt.wasm'] : ['puna.js', 'puna.wasm'])].map((file) => path.join(folders['/puna/'], file))),
  ...(flags.wllama && { wllama: gzipped(['index.min.js', 'wasm/wllama.wasm'].map((file) => path.join(folders['/wllama/'], file))) }),
};
const keys = ['first_visit_ms', 'load_ms', 'first_token_ms', 'prefill_tokens_per_s', 'decode_tokens_per_s', 'peak_mib', 'js_heap_mib', 'empty_mib'];
const medians = Object.fromEntries(engines.map((name) => [name, Object.fromEntries(keys.map((key) => [key, median(rounds[name].map((r) => r[key]))]))]));
const line = (cells) => console.log(cells.map((cell, i) => String(cell).padStart(i ? 14 : 0).padEnd(i ? 0 : 24)).join(''));
line(['median of ' + flags.rounds, ...engines]);
for (const key of keys) line([key, ...engines.map((name) => medians[name][key].toFixed(1))]);
line(['engine, gzip bytes', ...engines.map((name) => transfer[name])]);
const settings = { threads, prompt: Number(flags.prompt), decode: Number(flags.decode), context: Number(flags.context) };
const report = { kind: 'puna beside wllama', model: path.basename(model), device: flags.device, settings, facts, transfer, medians, rounds };
if (flags.json) fs.writeFileSync(flags.json, JSON.stringify(report, null, 1) + '\n');
server.close();
