// The first token of a long prompt after a reload, with and without texts kept in the browser's storage, in headless Chromium.
//   node bench/browser/kept_texts.mjs MODEL.gguf [--tokens 1000] [--device cpu|gpu] [--threads N] [--rounds 5] [--json OUT]
// Puna is bindings/js/dist (npm run build there); CHROMIUM names another program than /usr/bin/chromium. Each round has a prompt of its own:
// a page with `keepTexts` writes a token (nothing of the prompt is kept: "computed"), saves while idle ("saved_ms", until the engine has closed),
// is reloaded, and writes the same again ("kept"). Times are from the request to its first chunk of text; the model is loaded before.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root, withChromium, withProfile } from './chromium.mjs';
import { median } from './median.mjs';
import { startServer } from './server.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tokens: { type: 'string', default: '1000' },
    device: { type: 'string', default: 'cpu' },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'string' },
  },
});
const [tokens, threads, rounds] = [flags.tokens, flags.threads, flags.rounds].map(Number);
if (positionals.length !== 1 || !['cpu', 'gpu'].includes(flags.device) || ![tokens, threads, rounds].every((n) => Number.isInteger(n) && n >= 1)) {
  console.error('usage: node bench/browser/kept_texts.mjs MODEL.gguf [--tokens N] [--device cpu|gpu] [--threads N] [--rounds N] [--json OUT]');
  process.exit(2);
}

const server = await startServer({
  folders: { '/puna/': path.join(root, 'bindings/js/dist') },
  files: { '/model.gguf': positionals[0] },
  handlers: { '/': (_, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>kept texts</title>') },
});

// In the page: loads the model, asks for one token after `n` of a prompt that begins with `seed`.
async function visit({ seed, n, device, threads }) {
  const { Puna } = await import('/puna/index.js');
  const engine = await Puna.load('/model.gguf', { device, threads, context: n + 64, persist: false, keepTexts: { bytes: 2 ** 30 } });
  if (!engine.info.keepsTexts.on) throw new Error(engine.info.keepsTexts.why);
  const words = await engine.tokenize(`${seed} ` + 'The quick brown fox jumps over the lazy dog. '.repeat(n / 4), { special: true });
  const before = performance.now();
  let ms = null, cached = 0, text = '';
  for await (const chunk of engine.complete({ prompt: words.slice(0, n), max_tokens: 8, temperature: 0, ignore_eos: true })) {
    if (chunk.choices[0]?.text) ms ??= performance.now() - before;
    text += chunk.choices[0]?.text ?? '';
    cached = chunk.usage?.prompt_tokens_details.cached_tokens ?? cached;
  }
  const saving = performance.now();
  await engine.close();
  return { ms, cached, text, saved_ms: performance.now() - saving, on: engine.info.device.name, kept: await Puna.texts.kept() };
}

// A round, or an error where nothing was kept or the texts differ.
async function measure(page, seed) {
  const ask = { seed, n: tokens, device: flags.device, threads };
  await page.goto(`${server.origin}/`);
  const computed = await page.evaluate(visit, ask);
  await page.reload();
  const kept = await page.evaluate(visit, ask);
  if (computed.cached !== 0 || kept.cached === 0) throw new Error(`nothing was kept: ${JSON.stringify({ computed, kept })}`);
  if (computed.text !== kept.text) throw new Error(`the texts differ: ${JSON.stringify([computed.text, kept.text])}`);
  return { computed_ms: computed.ms, kept_ms: kept.ms, cached: kept.cached, saved_ms: computed.saved_ms, on: kept.on, kept: kept.kept };
}

async function measureAll(page) {
  const results = [];
  while (results.length < rounds) {
    const result = await measure(page, `${Date.now()} ${results.length}`);
    results.push(result);
    const [computed, kept, saved] = [result.computed_ms, result.kept_ms, result.saved_ms].map((ms) => ms.toFixed(0));
    console.log(`round ${results.length}: computed ${computed} ms, kept ${kept} ms (${result.cached} of ${tokens} tokens), saved in ${saved} ms`);
  }
  return results;
}

try {
  const results = await withProfile((profile) => withChromium(profile, measureAll));
  const summary = {
    model: path.basename(positionals[0]),
    on: results[0].on,
    tokens,
    computed_ms: median(results.map(({ computed_ms }) => computed_ms)),
    kept_ms: median(results.map(({ kept_ms }) => kept_ms)),
    saved_ms: median(results.map(({ saved_ms }) => saved_ms)),
    kept_bytes: Math.round(results.at(-1).kept.bytes / rounds),
  };
  console.log(JSON.stringify(summary));
  if (flags.json) fs.writeFileSync(flags.json, `${JSON.stringify({ summary, rounds: results }, null, 1)}\n`);
} finally {
  server.close();
}
