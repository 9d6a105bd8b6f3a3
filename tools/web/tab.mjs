// Puts the engine of the tab beside the page: web/static/puna/, the bundles of the npm package (bindings/js) and its WebAssembly, as the
// presets wasm and wasm-mt have built it, and web/static/puna.json, which tells the page of it: {"tab": whether there is one, "threads":
// whether one with threads is}. Leaves files alone that are so already.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const to = path.join(root, 'web/static');
const npmPackage = path.join(root, 'bindings/js');
// What a page asks for, and what the page's own service worker imports: a site has one worker.
const wanted = ['index.js', 'service_worker.js', 'worker.js', 'puna.js', 'puna.wasm', 'puna-mt.js', 'puna-mt.wasm', 'THIRD_PARTY.txt'];

function putFile(file, content) {
  if (fs.existsSync(file) && fs.readFileSync(file).equals(content)) return;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
}

// The files by name; none: there is nothing that could be put there.
async function engineFiles() {
  const presets = ['wasm', 'wasm-mt'].map((preset) => path.join(root, 'build', preset, 'bindings/js'));
  if (!fs.existsSync(path.join(presets[0], 'puna.wasm')) || !fs.existsSync(path.join(npmPackage, 'node_modules/esbuild'))) return new Map();
  const { bundle, copyEngine, writeNotices } = await import(path.join(npmPackage, 'build.mjs'));
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'puna-tab-'));
  try {
    await bundle(made);
    copyEngine(presets, made);
    writeNotices(made);
    const there = wanted.filter((name) => fs.existsSync(path.join(made, name)));
    return new Map(there.map((name) => [name, fs.readFileSync(path.join(made, name))]));
  } finally {
    fs.rmSync(made, { recursive: true });
  }
}

const files = await engineFiles();
for (const name of wanted.filter((name) => !files.has(name))) fs.rmSync(path.join(to, 'puna', name), { force: true });
for (const [name, content] of files) putFile(path.join(to, 'puna', name), content);
const told = { tab: files.has('puna.wasm'), threads: files.has('puna-mt.wasm') };
putFile(path.join(to, 'puna.json'), Buffer.from(`${JSON.stringify(told)}\n`));
