// A headless Chromium with a profile folder of its own. CHROMIUM names another program than /usr/bin/chromium, CHROMIUM_FLAGS further flags
// (what a Chromium on Linux needs to give pages the machine's own GPU is in README.md).
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const kFlags = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--enable-unsafe-webgpu'];

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

// Calls body(folder) with an empty profile folder, which is removed afterwards.
export async function withProfile(body) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'puna-bench-'));
  try {
    return await body(profile);
  } finally {
    fs.rmSync(profile, { recursive: true, force: true });
  }
}

// Calls body(page) in a browser of its own with that profile. Without --enable-unsafe-webgpu a Chromium on Linux has no adapter; the
// environment variable PUNA_BENCH tells its processes apart from others.
export async function withChromium(profile, body) {
  const { chromium } = createRequire(path.join(root, 'bindings/js/package.json'))('playwright-core');
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    ignoreDefaultArgs: ['--disable-gpu'],
    args: [...kFlags, ...(process.env.CHROMIUM_FLAGS ?? '').split(' ').filter(Boolean)],
    env: { ...process.env, PUNA_BENCH: profile },
  });
  try {
    return await body(context.pages()[0] ?? (await context.newPage()));
  } finally {
    await context.close().catch(() => undefined);
  }
}
