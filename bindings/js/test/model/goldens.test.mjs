// The real engine in a page: tiny models, files and folders, against the logits that transformers computed, on the CPU and on the page's
// GPU adapter.
// PUNA_GOLDENS names a further folder of models; PUNA_GOLDENS_GPU=all runs all of them on the GPU too, not only the first ones.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { outcome, startBrowser } from '../browser/harness.mjs';
import { nmse, readNpy } from '../support/npy.mjs';
import { buildReal } from './real.mjs';

const root = path.resolve('../..');
const folders = [path.join(root, 'tests/goldens'), ...(process.env.PUNA_GOLDENS ? [process.env.PUNA_GOLDENS] : [])];
const goldens = folders.flatMap((folder) =>
  fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.npy'))
    .sort()
    .map((file) => readGolden(folder, file.slice(0, -4))),
);
const kHalf = /f16$|f16_1$/; // weights of 16 bits
const kFirstOnGpu = ['llama-q4_0'];
let run;

before(async () => {
  run = await startBrowser({ folders: { '/dist/': await buildReal() } });
  for (const { files } of goldens) for (const [address, file] of files) run.server.files.set(address, { bytes: fs.readFileSync(file), etag: null });
});
after(() => run?.stop());

// A model is a file or a folder.
function readGolden(folder, name) {
  const json = JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`)));
  const at = path.join(folder, name);
  const inside = fs.existsSync(at) ? fs.readdirSync(at).map((file) => [`/${name}/${file}`, path.join(at, file)]) : null;
  const source = inside ? `/${name}/` : `/${name}.gguf`;
  return { name, json, source, files: inside ?? [[source, `${at}.gguf`]], logits: `${at}.npy` };
}

// Values cross from the page as base64: lists of numbers take minutes.
const floats = (base64) => new Float32Array(Uint8Array.from(Buffer.from(base64, 'base64')).buffer);
const encode = `const base64 = (floats) => { let text = ''; for (const b of new Uint8Array(floats.buffer)) text += String.fromCharCode(b); return btoa(text); };`;

for (const device of ['cpu', 'gpu']) {
  for (const golden of goldens) {
    if (device === 'gpu' && process.env.PUNA_GOLDENS_GPU !== 'all' && !kFirstOnGpu.includes(golden.name)) continue;
    test(`${golden.name} on the ${device}`, async (t) => {
      const { json } = golden;
      const { context, page } = await run.open();
      page.setDefaultTimeout(0);
      const answer = await outcome(
        page,
        `${encode} const engine = await Puna.load('${golden.source}', { device: '${device}', numerics: 'exact', kvType: 'f32' });
         if (arg.kind === 'embedding') {
           const { data } = await engine.embed({ input: arg.tokens });
           return { type: engine.info.device.type, values: base64(new Float32Array(data[0].embedding)) };
         }
         const logits = base64(await engine.logits(arg.tokens));
         let last;
         const text = [];
         for await (const chunk of engine.complete({ prompt: arg.tokens, max_tokens: arg.greedy.length, temperature: 0, ignore_eos: true, return_tokens: true })) {
           last = chunk;
           text.push(...(chunk.tokens ?? []));
         }
         return { type: engine.info.device.type, values: logits, text, used: last.usage.completion_tokens, why: engine.info.device.why };`,
        { tokens: json.tokens, greedy: json.greedy, kind: json.kind },
      );
      assert.equal(answer.message, undefined);
      assert.equal(answer.type, device);
      const error = nmse(floats(answer.values), readNpy(golden.logits).values);
      t.diagnostic(`NMSE ${error.toExponential(1)} ${answer.why ?? ''}`);
      assert.ok(error <= (kHalf.test(golden.name) ? 1e-4 : 1e-6), `NMSE ${error}`);
      if (json.kind !== 'embedding') {
        assert.equal(answer.used, json.greedy.length);
        const certain = json.greedy_margin > 0 ? json.greedy.length : 0;
        assert.deepEqual(answer.text.slice(0, certain), json.greedy.slice(0, certain));
      }
      await context.close();
    });
  }
}
