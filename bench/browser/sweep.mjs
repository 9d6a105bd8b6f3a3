// Speed of models in a browser, through the npm package: prefill and decode behind each depth, min, median and max over the repeats.
//   node bench/browser/sweep.mjs MODEL... [--name NAME] [--device auto|gpu|cpu] [--gpu-features all|baseline] [--numerics fast|exact]
//     [--kv-type f32|f16|q8_0|q4_0] [--threads N] [--prompt 512] [--decode 128] [--depth 0,2048] [--repeats 5] [--minutes 60] [--out DIR]
// runs page/ in headless Chromium (CHROMIUM names another) and writes DIR/NAME.json; DIR is bench/results/browser unless set.
//   node bench/browser/sweep.mjs MODEL... --serve [--port 8090] [--host 127.0.0.1] [--cert PEM --key PEM]
// only serves the page, for any browser; what it sends is kept in DIR too, under a new name each time. README.md tells how a phone gets there.
// MODEL is a .gguf file, an address (https://..., hf:owner/repo/file.gguf) or a name of the catalogue. bench/report.py draws the results.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root, withChromium, withProfile } from './chromium.mjs';
import { startServer } from './server.mjs';

const kMaxResultBytes = 8 << 20;
const kChoices = { device: ['auto', 'gpu', 'cpu'], 'gpu-features': ['all', 'baseline'], numerics: ['fast', 'exact'], 'kv-type': ['f32', 'f16', 'q8_0', 'q4_0'] };
const kNumbers = { prompt: [0, 1 << 20], decode: [0, 1 << 20], repeats: [1, 1000], threads: [1, 64], minutes: [1, 10000], port: [0, 65535] };
const kName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;

function usage(message) {
  console.error(`error: ${message}\nThe head of bench/browser/sweep.mjs lists what may be given.`);
  process.exit(2);
}

function parseFlags() {
  const text = (name) => [name, { type: 'string' }];
  const names = ['name', 'depth', 'out', 'host', 'cert', 'key', ...Object.keys(kChoices), ...Object.keys(kNumbers)];
  try {
    return parseArgs({ allowPositionals: true, options: { ...Object.fromEntries(names.map(text)), serve: { type: 'boolean' } } });
  } catch (error) {
    return usage(error.message);
  }
}

function wholeNumber(flag, text, [least, most]) {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < least || value > most) usage(`--${flag} is "${text}"; it is a whole number from ${least} to ${most}.`);
  return value;
}

function checkFlags(flags, positionals) {
  if (positionals.length === 0 && !flags.serve) usage('no MODEL is given.');
  for (const [flag, allowed] of Object.entries(kChoices)) {
    if (flags[flag] !== undefined && !allowed.includes(flags[flag])) usage(`--${flag} is "${flags[flag]}"; it is one of ${allowed.join(', ')}.`);
  }
  for (const [flag, range] of Object.entries(kNumbers)) if (flags[flag] !== undefined) flags[flag] = wholeNumber(flag, flags[flag], range);
  if (flags.name !== undefined && !kName.test(flags.name)) usage(`--name is "${flags.name}"; it consists of letters, digits, ".", "_" and "-".`);
  if (flags.prompt === 0 && flags.decode === 0) usage('with --prompt 0 and --decode 0 there is nothing to measure.');
  if (!flags.cert !== !flags.key) usage('--cert and --key belong together.');
  for (const flag of ['port', 'host', 'cert']) if (flags[flag] !== undefined && !flags.serve) usage(`--${flag} belongs to --serve.`);
  if (flags.minutes !== undefined && flags.serve) usage('--minutes does not go with --serve, which ends when it is stopped.');
}

// Settings of page/sweep.js; what is not given is left to it.
function settingsOf(flags) {
  const depths = flags.depth?.split(',').map((text) => wholeNumber('depth', text, [0, 1 << 20]));
  if (depths && new Set(depths).size < depths.length) usage(`--depth is "${flags.depth}", which has a depth twice.`);
  const { device, numerics, threads, prompt, decode, repeats } = flags;
  const given = { device, gpu_features: flags['gpu-features'], numerics, kv_type: flags['kv-type'], threads, prompt, decode, depths, repeats };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

// Models for the page, and the files behind addresses of this server. The address changes with the file: browsers keep models by address.
function offeredModels(positionals) {
  const files = {};
  const models = positionals.map((text) => {
    const stat = fs.statSync(text, { throwIfNoEntry: false });
    const name = path.basename(text).replace(/\.gguf$/i, '');
    if (stat?.isFile()) {
      const address = `/models/${stat.size}-${Math.trunc(stat.mtimeMs)}/${path.basename(text)}`;
      files[address] = path.resolve(text);
      return { name, source: encodeURI(address), bytes: stat.size };
    }
    if (!/^(https?:\/\/|hf:)/i.test(text) && !/^[A-Za-z0-9][\w.-]*(:[\w.-]+)?$/.test(text)) usage(`there is no file ${text}, and it is no address either.`);
    if (/^[^:]*\.gguf$/i.test(text)) usage(`there is no file ${text}.`);
    return { name, source: text };
  });
  const twice = models.find(({ name }, i) => models.findIndex((model) => model.name === name) < i);
  if (twice) usage(`two models are named ${twice.name}.`);
  return { models, files };
}

function revision() {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

// Takes results that the page sends. A JSON type keeps pages of other sites from sending any: it would need their server's permission first.
function resultsHandler(folder, overwrite, onSaved) {
  return (request, response) => {
    const refuse = (status, why) => response.writeHead(status, { 'Content-Type': 'text/plain' }).end(why);
    if (request.method !== 'POST' || request.headers['content-type'] !== 'application/json') return refuse(405, 'only POST of application/json');
    const pieces = [];
    let size = 0;
    request.on('data', (piece) => {
      size += piece.length;
      if (size <= kMaxResultBytes) pieces.push(piece);
    });
    request.on('end', () => {
      if (size > kMaxResultBytes) return refuse(413, `more than ${kMaxResultBytes} bytes`);
      let report;
      try {
        report = JSON.parse(Buffer.concat(pieces).toString());
      } catch (error) {
        return refuse(400, error.message);
      }
      if (report?.kind !== 'puna browser sweep' || !kName.test(report.name) || !Array.isArray(report.models)) return refuse(400, 'no result of a browser sweep');
      const file = save(folder, report, overwrite);
      response.writeHead(201, { 'Content-Type': 'text/plain' }).end(path.basename(file));
      onSaved(file, report);
    });
  };
}

function save(folder, report, overwrite) {
  fs.mkdirSync(folder, { recursive: true });
  const file = (n) => path.join(folder, `${report.name}${n > 1 ? `-${n}` : ''}.json`);
  let n = 1;
  while (!overwrite && fs.existsSync(file(n))) ++n;
  fs.writeFileSync(file(n), `${JSON.stringify(report, null, 1)}\n`);
  return file(n);
}

async function runHeadless(server, saved, minutes, page) {
  const failed = new Promise((_, reject) => {
    page.on('crash', () => reject(new Error('The page crashed.')));
    page.on('pageerror', (error) => reject(error));
    page.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && text.startsWith('sweep: ')) reject(new Error(text.slice(7)));
      else if (message.type() !== 'debug') console.error(text);
    });
    setTimeout(() => reject(new Error(`It took more than ${minutes} minutes; --minutes allows more.`)), minutes * 60_000).unref();
  });
  failed.catch(() => undefined);
  await page.goto(`${server.origin}/#auto`);
  return Promise.race([saved, failed]);
}

function print({ file, report }) {
  const line = (cells) => console.log(cells.map((cell, i) => (i < 2 ? String(cell).padEnd(i ? 14 : 28) : String(cell).padStart(12))).join(''));
  line(['model', 'ran on', 'phase', 'tokens', 'depth', 'min tok/s', 'median', 'max']);
  for (const { model, device, results, failures, error } of report.models) {
    const at = [model.name, device?.ran_on ?? '-'];
    for (const { phase, tokens, depth, tokens_per_s: speed } of results) line([...at, phase, tokens, depth, ...[speed.min, speed.median, speed.max].map((v) => v.toFixed(1))]);
    for (const { phase, tokens, depth, error: why } of failures) line([...at, phase, tokens, depth, ` ${why}`]);
    if (error) line([...at, ` ${error}`]);
  }
  console.log(`written: ${path.relative(process.cwd(), file)}`);
}

const { values: flags, positionals } = parseFlags();
checkFlags(flags, positionals);
const dist = path.join(root, 'bindings/js/dist');
if (!fs.existsSync(path.join(dist, 'puna.wasm'))) usage(`there is no ${path.join(dist, 'puna.wasm')}; build the package first (npm run build in bindings/js).`);
const settings = settingsOf(flags);
const { models, files } = offeredModels(positionals);
const offer = JSON.stringify({ models, settings, name: flags.name ?? null, revision: revision() });
let saved;
const firstSaved = new Promise((resolve) => (saved = resolve));
const server = await startServer({
  folders: { '/': path.join(root, 'bench/browser/page'), '/puna/': dist },
  files,
  handlers: {
    '/offer.json': (_, response) => response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(offer),
    '/results': resultsHandler(path.resolve(flags.out ?? path.join(root, 'bench/results/browser')), !flags.serve, (file, report) => {
      if (flags.serve) console.log(`${report.name}: ${path.relative(process.cwd(), file)}`);
      saved({ file, report });
    }),
  },
  host: flags.host,
  port: flags.serve ? (flags.port ?? 8090) : 0,
  tls: flags.cert ? { cert: fs.readFileSync(flags.cert), key: fs.readFileSync(flags.key) } : null,
}).catch((error) => usage(error.message));

if (flags.serve) {
  console.log(`${server.origin}/  (ends with Ctrl-C)`);
} else {
  const { file, report } = await withProfile((profile) => withChromium(profile, (page) => runHeadless(server, firstSaved, flags.minutes ?? 60, page))).catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
    return {};
  });
  server.close();
  if (file) {
    print({ file, report });
    if (report.models.some(({ results }) => results.length === 0)) process.exitCode = 1;
  }
}
