// Builds the tests and runs them: types and units in Node, the package in a browser with an engine of the tests, with the real one and tiny
// models, and with real weights.
//   node test/run.mjs [unit] [browser] [model] [release] [--only TEXT]
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const out = path.join(root, 'build/test');
const args = process.argv.slice(2);
const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : '';
const all = ['unit', 'browser', 'model', 'release'];
const parts = all.filter((part) => args.includes(part) || !args.some((arg) => all.includes(arg)));

for (const part of parts) fs.rmSync(path.join(out, part), { recursive: true, force: true });

// Tests in TypeScript become scripts that Node runs.
async function scripts(folder, part) {
  const names = fs.readdirSync(folder);
  const typed = names.filter((name) => name.endsWith('.test.ts'));
  await build({
    entryPoints: typed.map((name) => path.join(folder, name)),
    outdir: path.join(out, part),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  });
  const built = typed.map((name) => path.join(out, part, name.replace(/ts$/, 'mjs')));
  return [...built, ...names.filter((name) => name.endsWith('.test.mjs')).map((name) => path.join(folder, name))];
}

let failed = false;
if (parts.includes('unit')) {
  const { status } = spawnSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '--noEmit'], { cwd: root, stdio: 'inherit' });
  failed ||= status !== 0;
}
let ran = false;
for (const part of parts) {
  // Node 22 does not run the `after` of a file none of whose tests it runs, and then waits for what `before` has started.
  const files = (await scripts(path.join(root, 'test', part), part)).filter((file) => new RegExp(only).test(fs.readFileSync(file, 'utf8')));
  if (files.length === 0) continue;
  ran = true;
  const flags = ['--test', '--test-reporter=spec', '--test-concurrency=1', ...(only ? ['--test-name-pattern', only] : [])];
  const { status } = spawnSync(process.execPath, [...flags, ...files], { cwd: root, stdio: 'inherit' });
  failed ||= status !== 0;
}
if (!ran) {
  console.error(`error: no test's name has "${only}" in it`);
  failed = true;
}
process.exitCode = failed ? 1 : 0;
