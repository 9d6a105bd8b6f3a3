// The built package in any browser: three visits load a model, from the network and then from storage, and must write the same text; for the
// tiny model of the tests, the tokens that transformers wrote.
//   node test/any_browser.mjs [--device cpu|gpu] [--storage opfs|indexeddb|cache] [--model FILE.gguf] -- COMMAND [ARG...]
// The command starts a browser on the address that is put behind it. A model of some 100 MB shows what a tiny one does not:
//   node test/any_browser.mjs -- firefox --headless --profile "$(mktemp -d)"
//   node test/any_browser.mjs --model M.gguf -- xvfb-run -a /usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from '../../../bench/browser/server.mjs';

const kVisits = 3;
const kSeconds = 240;
const here = path.dirname(fileURLToPath(import.meta.url));
const goldens = path.resolve(here, '../../../tests/goldens');
const { values: flags, positionals: command } = parseArgs({
  allowPositionals: true,
  options: { device: { type: 'string', default: 'cpu' }, storage: { type: 'string', default: 'auto' }, model: { type: 'string' } },
});
if (command.length === 0 || !['cpu', 'gpu'].includes(flags.device)) {
  console.error('usage: node test/any_browser.mjs [--device cpu|gpu] [--storage opfs|indexeddb|cache] [--model FILE.gguf] -- COMMAND [ARG...]');
  process.exit(2);
}
const golden = flags.model ? null : JSON.parse(fs.readFileSync(path.join(goldens, 'llama-q4_0.json')));
const settings = {
  load: { device: flags.device, storage: flags.storage, context: 128, persist: false, ...(golden && { numerics: 'exact', kvType: 'f32' }) },
  request: { prompt: golden?.tokens ?? 'The capital of France is', max_tokens: golden?.greedy.length ?? 24, temperature: 0, ignore_eos: true, return_tokens: true },
};

const page = `<!doctype html><title>Puna in any browser</title><script type="module">
const visit = Number(new URLSearchParams(location.search).get('visit') ?? 1);
const { load, request } = ${JSON.stringify(settings)};
const result = { visit, browser: navigator.userAgent, sources: [], tokens: [] };
try {
  const { Puna } = await import('/puna/index.js');
  const started = performance.now();
  const engine = await Puna.load('/model.gguf', { ...load, onProgress: ({ source }) => result.sources.includes(source) || result.sources.push(source) });
  result.load_ms = Math.round(performance.now() - started);
  result.device = engine.info.device;
  for await (const chunk of engine.complete(request)) {
    result.tokens.push(...(chunk.tokens ?? []));
    result.tokens_per_s = chunk.timings?.predicted_per_second ?? null;
  }
  await engine.close();
} catch (error) {
  result.error = String(error.message ?? error);
}
await fetch('/result', { method: 'POST', body: JSON.stringify(result) });
if (visit < ${kVisits} && !result.error) location.search = '?visit=' + (visit + 1);
</script>`;

const results = [];
let finish;
const finished = new Promise((resolve) => (finish = resolve));
const server = await startServer({
  folders: { '/puna/': path.resolve(here, '../dist') },
  files: { '/model.gguf': flags.model ?? path.join(goldens, 'llama-q4_0.gguf') },
  handlers: {
    '/': (_, response) => response.setHeader('Content-Type', 'text/html').end(page),
    '/result': async (request, response) => {
      let text = '';
      for await (const piece of request) text += piece;
      response.end();
      results.push(JSON.parse(text));
      if (results.length === kVisits || results.at(-1).error) finish();
    },
  },
});
const browser = spawn(command[0], [...command.slice(1), `${server.origin}/`], { detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
browser.on('error', (error) => finish(`${command[0]} does not start: ${error.message}`));
browser.on('exit', () => setTimeout(finish, 1000, `${command[0]} ended.`));
const timer = setTimeout(finish, kSeconds * 1000, `No answer within ${kSeconds} seconds.`);
const problem = await finished;
clearTimeout(timer);
browser.removeAllListeners('exit');
try {
  process.kill(-browser.pid, 'SIGTERM'); // its processes too
} catch {
  // It has ended.
}
server.close();

for (const { visit, browser: name, device, sources, load_ms, tokens_per_s, error } of results) {
  if (visit === 1) console.log(name);
  console.log(error ? `visit ${visit}: ${error}` : `visit ${visit}: ${device.name}, from ${sources.join(', ')}, loaded in ${load_ms} ms, ${tokens_per_s?.toFixed(1)} tokens/s`);
}
try {
  assert.ok(!problem, problem);
  assert.equal(results.length, kVisits, 'A visit failed.');
  for (const { visit, device, sources, tokens } of results) {
    assert.equal(device.type, flags.device);
    assert.equal(tokens.length, settings.request.max_tokens);
    assert.deepEqual(tokens, golden?.greedy ?? results[0].tokens, `Other tokens in visit ${visit}.`);
    assert.ok(visit === 1 || !sources.includes('network'), `Visit ${visit} fetched the model again.`);
  }
  console.log('ok');
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}
process.exit();
