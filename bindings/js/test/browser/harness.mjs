// A Chromium on pages of a test server, for the tests of this folder.
import path from 'node:path';
import { chromium } from 'playwright-core';
import { bundle } from '../../build.mjs';
import { startServer } from '../support/server.mjs';

const root = process.cwd(); // bindings/js
const flags = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--enable-unsafe-webgpu'];
const kProgram = '/usr/bin/chromium';

// PUNA_CHROMIUM is set by tools/test_package; PUNA_CHROMIUM_FLAGS are further flags, as for a machine's own GPU (bench/browser/README.md).
const moreFlags = (process.env.PUNA_CHROMIUM_FLAGS ?? '').split(' ').filter(Boolean);
export const browserProgram = () => process.env.PUNA_CHROMIUM || kProgram;

// The bundles with an engine of the tests in the worker.
export async function buildFake(out) {
  const fake = path.join(root, 'test/support/fake_engine_host.ts');
  const plugins = [{ name: 'fake-engine', setup: ({ onResolve }) => onResolve({ filter: /engine_host\.js$/ }, () => ({ path: fake })) }];
  await bundle(out, { plugins });
  return out;
}

export async function startBrowser({ headers = {}, folders = {}, args = [] } = {}) {
  const server = await startServer({ headers, folders: { '/dist/': path.join(root, 'build/test/fake'), '/': path.join(root, 'test/browser/pages'), ...folders } });
  const browser = await chromium.launch({ executablePath: browserProgram(), headless: true, ignoreDefaultArgs: ['--disable-gpu'], args: [...flags, ...moreFlags, ...args] });
  return {
    server,
    browser,
    // A browser profile of its own, with a page on which `Puna` is there.
    async open(page = '/') {
      const context = await browser.newContext();
      return { context, page: await openPage(context, server.origin + page) };
    },
    openPage: (context, page = '/') => openPage(context, server.origin + page),
    async stop() {
      await browser.close();
      await server.stop();
    },
  };
}

async function openPage(context, url) {
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
  if (process.env.VERBOSE) page.on('console', (message) => console.error(message.text()));
  await page.goto(url);
  await page.waitForFunction(() => globalThis.Puna);
  return page;
}

// What the page's code gives; a thrown PunaError as {code, message, name}.
export const outcome = (page, code, argument) =>
  page.evaluate(
    async ([text, value]) => {
      try {
        return await new Function('arg', `return (async () => { ${text} })()`)(value);
      } catch (error) {
        return { code: error.code ?? null, message: error.message, name: error.name };
      }
    },
    [code, argument],
  );
