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
const only = args.includes('--only') ? ['--test-name-pattern', args[args.indexOf('--only') + 1]] : [];
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
for (const part of parts) {
  const files = await scripts(path.join(root, 'test', part), part);
  const { status } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', '--test-concurrency=1', ...only, ...files], { cwd: root, stdio: 'inherit' });
  failed ||= status !== 0;
}
process.exitCode = failed ? 1 : 0;
