// The bundles with the engine that the presets wasm and wasm-mt built, or with that of PUNA_ENGINE.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { bundle, copyEngine, engineFolders } from '../../build.mjs';

export async function buildReal() {
  const dist = path.resolve('build/test/real');
  fs.mkdirSync(dist, { recursive: true });
  await bundle(dist);
  const copied = copyEngine(process.env.PUNA_ENGINE ? [process.env.PUNA_ENGINE] : engineFolders, dist);
  assert.ok(copied.includes('puna.wasm'), 'puna.wasm is built');
  return dist;
}
