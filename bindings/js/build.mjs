// Builds dist/: the three bundles, the types, and the engine's files beside them.
//   node build.mjs [--engine DIR] [--no-types]
// DIR holds puna.js and puna.wasm (and puna-mt.*, for threads); where not given, what the presets wasm and wasm-mt built is taken.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(fileURLToPath(import.meta.url));
// What a page fetches for one engine has at most so many bytes, compressed. Decoders and preprocessing of pictures and sounds, with their encoders, are 0.4
// MB of it: a browser's own decoders give other pixels (docs/decisions/media-libraries.md). Threads and memory that they share take 35 KB more.
const kMostBytes = { puna: 2_500_000, 'puna-mt': 2_540_000 };
const engineFiles = ['puna.js', 'puna.wasm', 'puna-mt.js', 'puna-mt.wasm'];
export const engineFolders = ['wasm', 'wasm-mt'].map((preset) => path.join(root, '../../build', preset, 'bindings/js'));

const common = { bundle: true, minify: true, target: 'es2022', legalComments: 'none', logLevel: 'warning', absWorkingDir: root };

// The bundles in `out`; tests put another engine in the worker.
export async function bundle(out, { plugins = [] } = {}) {
  const external = engineFiles.map((file) => `./${file}`);
  await Promise.all([
    build({ ...common, entryPoints: ['src/index.ts'], format: 'esm', outfile: path.join(out, 'index.js') }),
    build({ ...common, entryPoints: ['src/worker.ts'], format: 'esm', external, plugins, outfile: path.join(out, 'worker.js') }),
    // A classic script: not all browsers take modules as service workers.
    build({ ...common, entryPoints: ['src/service_worker.ts'], format: 'iife', outfile: path.join(out, 'service_worker.js') }),
  ]);
}

// Copies the engine's files that are in these folders; says which.
export function copyEngine(folders, out) {
  const copied = [];
  for (const file of engineFiles) {
    const from = folders.map((folder) => path.join(folder, file)).find((each) => fs.existsSync(each));
    if (!from) continue;
    fs.copyFileSync(from, path.join(out, file));
    copied.push(file);
  }
  return copied;
}

// What the engine is built with (cmake/media_libraries.cmake), as tools/setup puts it into third_party/cache. {fmt} asks for no notice in
// programs.
const libraries = {
  'libjpeg-turbo': ['LICENSE.md', 'README.ijg'],
  libspng: ['LICENSE'],
  zlib: ['LICENSE'],
  libwebp: ['COPYING', 'PATENTS'],
  libogg: ['COPYING'],
  libvorbis: ['COPYING'],
  miniaudio: ['LICENSE'],
  highway: ['LICENSE-BSD3'],
};

// Its header has no text of its licence, which is that of MIT.
const json = `Copyright (c) 2013-2022 Niels Lohmann

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

// Of what the bundles and the engine contain that is somebody else's.
export function writeNotices(out) {
  const text = (...file) => fs.readFileSync(path.join(root, ...file), 'utf8').trim();
  const parts = [
    `worker.js contains parts of hash-wasm:\n\n${text('node_modules/hash-wasm/LICENSE')}`,
    ...Object.entries(libraries).map(([name, files]) => `The engine contains ${name}:\n\n${files.map((file) => text('../../third_party/cache', name, file)).join('\n\n')}`),
    `The engine contains nlohmann/json:\n\n${json}`,
  ];
  fs.writeFileSync(path.join(out, 'THIRD_PARTY.txt'), `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
}

// What a page fetches for each of the engines in `out`: files, their bytes with gzip -9, and how many they may have.
export function fetched(out) {
  const bytesOf = (file) => zlib.gzipSync(fs.readFileSync(path.join(out, file)), { level: 9 }).length;
  return ['puna', 'puna-mt']
    .filter((name) => fs.existsSync(path.join(out, `${name}.wasm`)))
    .map((name) => ({ name, files: ['index.js', 'worker.js', `${name}.js`, `${name}.wasm`] }))
    .map(({ name, files }) => ({ files, bytes: files.reduce((sum, file) => sum + bytesOf(file), 0), most: kMostBytes[name] }));
}

// Prints that; false where it is too much.
function tellSizes(out) {
  let fits = true;
  for (const { files, bytes, most } of fetched(out)) {
    console.log(`${files.join(' + ')}: ${bytes} bytes with gzip -9`);
    if (bytes <= most) continue;
    console.error(`error: that is more than ${most} bytes`);
    fits = false;
  }
  return fits;
}

async function main(args) {
  const out = path.join(root, 'dist');
  const at = args.indexOf('--engine');
  const folders = at >= 0 ? [path.resolve(args[at + 1])] : engineFolders;
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out);
  await bundle(out);
  writeNotices(out);
  fs.copyFileSync(path.join(root, '../../LICENSE'), path.join(root, 'LICENSE'));
  if (!args.includes('--no-types')) execFileSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc')], { cwd: root, stdio: 'inherit' });
  const copied = copyEngine(folders, out);
  if (!copied.includes('puna.wasm')) {
    console.error(`error: there is no puna.wasm in ${folders.join(' or ')}; build it with "cmake --preset wasm && cmake --build --preset wasm --target puna_page", or pass --engine DIR`);
    process.exitCode = 1;
  }
  if (!copied.includes('puna-mt.wasm')) console.warn('There is no puna-mt.wasm: pages will use one thread. The preset wasm-mt builds it.');
  if (!tellSizes(out)) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
