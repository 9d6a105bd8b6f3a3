// Puna beside other engines in headless Chromium: the same model, the same prompts, engines in turn, each in a browser of its own.
//   node bench/browser/compare.mjs MODEL.gguf [--wllama DIR] [--transformersjs DIR --onnx DIR [--dtype q4]] [--device cpu|gpu] [--threads N]
//     [--rounds 3] [--prompt 512] [--decode 128] [--json OUT]
// What the folders of the engines are, their files in engines/ say. Puna is bindings/js/dist (npm run build there). CHROMIUM names another
// program than /usr/bin/chromium. All compute with N threads on the CPU, all hardware threads unless set. A round is three visits, each in
// a browser started anew: a first one (download, load, and until the first token of a prompt of 32 words); a second one (load from the browser's
// storage, the first token of such a prompt, a prompt of --prompt words, --decode tokens, and the last two again, since an engine may compile shaders
// when it first needs them); a third one, which does the same for its memory: the largest proportional set size of all processes of the browser, that
// of the empty page before, and the largest JavaScript heaps of the page and its workers (js_heap.mjs). The comparison ends where an engine did not
// compute on --device, or logits are no numbers; OUT then has the rounds before.
// Prompts begin with a number of their own, so that no cache of prefixes helps. What each engine writes behind kQuestion is kept, not timed: it
// shows that they compute the same.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import zlib from 'node:zlib';
import { root, withChromium, withProfile } from './chromium.mjs';
import { JsHeap } from './js_heap.mjs';
import { median } from './median.mjs';
import { enginesOf, peerOptions } from './peers.mjs';
import { startServer } from './server.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...peerOptions,
    dtype: { type: 'string', default: 'q4' },
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
  console.error('usage: node bench/browser/compare.mjs MODEL.gguf [--wllama DIR] [--transformersjs DIR --onnx DIR [--dtype q4]] [--device cpu|gpu] [--threads 1..64] [--rounds N] [--prompt N] [--decode N] [--json OUT]');
  process.exit(2);
}
const model = positionals[0];
const several = flags.device === 'cpu' && threads > 1;
const dist = path.join(root, 'bindings/js/dist');
if (several && !fs.existsSync(path.join(dist, 'puna-mt.wasm'))) {
  console.error('error: bindings/js/dist has no puna-mt.wasm, which several threads need: build the preset wasm-mt, then the package.');
  process.exit(2);
}

const options = { ...flags, several, dist };
const engines = enginesOf(options);
if (engines instanceof Error) {
  console.error(`error: ${engines.message}`);
  process.exit(2);
}
const folders = Object.assign({}, ...Object.values(engines).map((engine) => engine.folders(options)));
const fileAt = (address) => {
  const prefix = Object.keys(folders).find((each) => address.startsWith(each));
  return path.join(folders[prefix], address.slice(prefix.length));
};

const server = await startServer({
  folders: { ...folders, '/page/': path.join(root, 'bench/browser/page'), '/engines/': path.join(root, 'bench/browser/engines') },
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

const kQuestion = 'The capital of France is';
const kWords = 'time year people way day man thing woman life child world school state family student group'.split(' ');
const promptOf = (words) => `Run ${100 + Math.floor(Math.random() * 900)}: ${Array.from({ length: words }, () => kWords[Math.floor(Math.random() * kWords.length)]).join(' ')}`;

// Of the browser and its adapter, in a browser of its own: a process for the GPU costs memory.
const facts = await withProfile((profile) =>
  withChromium(profile, async (page) => {
    await page.goto(origin);
    return page.evaluate(async () => (await import('/page/facts.js')).deviceFacts());
  }),
);
if (flags.device === 'gpu' && facts.adapter.missing) {
  console.error(`error: ${facts.adapter.missing}.`);
  process.exit(1);
}

// Loads the model in a fresh page: how long that takes, and what the engine says of itself.
async function load(page, engine) {
  await page.goto(origin);
  return page.evaluate(
    async ([name, settings]) => {
      const t = performance.now();
      globalThis.engine = await (await import(`/engines/${name}.js`)).open();
      const said = await globalThis.engine.load(settings);
      return { ms: performance.now() - t, said };
    },
    [engine, { device: flags.device, context: Number(flags.context), threads, dtype: flags.dtype }],
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

// The first visit: how long the page waits for the model, and for a first token.
async function measureFirstVisit(page, engine) {
  const { ms } = await load(page, engine);
  const { all_ms } = await run(page, promptOf(32), 1);
  return { first_visit_ms: ms, first_visit_token_ms: ms + all_ms };
}

// Loads the model from the browser's storage and asks for three texts: times of it all.
async function measureSpeed(page, engine) {
  const loaded = await load(page, engine);
  const short = await run(page, promptOf(32), 1);
  const prefill = async () => {
    const { prompt_tokens: tokens, all_ms } = await run(page, promptOf(Number(flags.prompt)), 1);
    return { tokens, per_s: (tokens * 1000) / all_ms };
  };
  const decode = async () => {
    const { tokens, first_ms, last_ms } = await run(page, promptOf(8), Number(flags.decode));
    return ((tokens - 1) * 1000) / (last_ms - first_ms);
  };
  const long = await prefill();
  const decodePerS = await decode();
  const again = { prefill_again_tokens_per_s: (await prefill()).per_s, decode_again_tokens_per_s: await decode() };
  const answer = await run(page, kQuestion, 12);
  return {
    said: loaded.said,
    load_ms: loaded.ms,
    first_token_ms: short.all_ms,
    prefill_tokens: long.tokens,
    prefill_tokens_per_s: long.per_s,
    decode_tokens_per_s: decodePerS,
    ...again,
    text: answer.text,
  };
}

// Where the engine of the page computed, and the range of its logits.
async function verify(page, engine) {
  const checked = await page.evaluate((prompt) => globalThis.engine.check(prompt), kQuestion);
  if (checked.device !== flags.device) throw new Error(`${engine} computed on the ${checked.device}, not on the ${flags.device}`);
  return { ran_on: checked.device === 'gpu' && facts.adapter.software ? 'software gpu' : checked.device, checked };
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
    const first = await withChromium(profile, (page) => measureFirstVisit(page, engine));
    const second = await withChromium(profile, async (page) => ({ ...(await measureSpeed(page, engine)), ...(await verify(page, engine)) }));
    const third = await withChromium(profile, (page) => measureMemory(page, profile, engine));
    return { ...first, ...second, ...third };
  });

const gzipped = (files) => files.reduce((sum, file) => sum + zlib.gzipSync(fs.readFileSync(file), { level: 9 }).length, 0);
const versionOf = (folder) => {
  const { name, version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return `${name} ${version}`;
};
const sizeOf = (file) => ({ file: path.basename(file), bytes: fs.statSync(file).size });
const names = Object.keys(engines);
const ofEach = (f) => Object.fromEntries(names.map((name) => [name, f(engines[name], name)]));
const transfer = ofEach((engine) => gzipped(engine.fetched(options).map(fileAt))); // what is fetched of each engine
const weights = ofEach((engine) => sizeOf(engine.model ? fileAt(engine.model(options)) : model));
const versions = ofEach((engine) => engine.packages?.(options).map(versionOf) ?? []);
const rounds = ofEach(() => []);
const speeds = ['prefill_tokens_per_s', 'decode_tokens_per_s', 'prefill_again_tokens_per_s', 'decode_again_tokens_per_s'];
const keys = ['first_visit_ms', 'first_visit_token_ms', 'load_ms', 'first_token_ms', ...speeds, 'peak_mib', 'js_heap_mib', 'empty_mib'];
const mediansOf = (results) => Object.fromEntries(keys.map((key) => [key, median(results.map((result) => result[key]))]));
const settings = { threads, prompt: Number(flags.prompt), decode: Number(flags.decode), context: Number(flags.context) };
const kind = `puna beside ${names.slice(1).join(' and ') || 'nothing'}`;
let medians;
for (let round = 0; round < Number(flags.rounds); ++round) {
  for (const name of names) {
    const result = await measure(name);
    rounds[name].push(result);
    console.error(`${name}: ${JSON.stringify(result)}`);
  }
  medians = ofEach((_, name) => mediansOf(rounds[name]));
  const report = { kind, model: path.basename(model), device: flags.device, settings, versions, weights, facts, transfer, medians, rounds };
  if (flags.json) fs.writeFileSync(flags.json, JSON.stringify(report, null, 1) + '\n');
}
const line = (cells) => console.log(cells.map((cell, i) => String(cell).padStart(i ? 16 : 0).padEnd(i ? 0 : 28)).join(''));
line(['median of ' + flags.rounds, ...names]);
line(['ran on', ...names.map((name) => rounds[name].at(-1).ran_on)]);
for (const key of keys) line([key, ...names.map((name) => medians[name][key].toFixed(1))]);
line(['engine, gzip bytes', ...names.map((name) => transfer[name])]);
server.close();
