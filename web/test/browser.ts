// A page of the built interface before a real `puna serve`, for the tests of whole flows. Nothing of it lasts. PUNA_SERVE: further
// arguments of the server.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { serve } from './serve.ts';

export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

export interface Bench {
  address: string;
  browser: Browser;
  away: (on: boolean) => void;
  end: () => Promise<void>;
}

async function listening(server: ChildProcess): Promise<string> {
  let seen = '';
  return await new Promise((done, failed) => {
    const look = (data: Buffer) => {
      seen += data;
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(seen);
      if (found) done(found[0]);
    };
    server.stdout!.on('data', look);
    server.stderr!.on('data', look);
    server.on('exit', () => failed(new Error(`The server ended: ${seen}`)));
  });
}

export async function bench(puna: string, model: string, build: string): Promise<Bench> {
  const more = process.env['PUNA_SERVE']?.split(' ') ?? ['--ctx-size', '2048'];
  const server = spawn(puna, ['serve', '--model', model, '--port', '0', ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
  const api = await listening(server);
  const page = await serve(build, api);
  const browser = await chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox'] });
  return {
    address: page.address,
    browser,
    away: page.away,
    end: async () => {
      await browser.close();
      page.close();
      server.kill();
    },
  };
}

// Errors, broken policies and requests to elsewhere: there are none in any test.
export async function open(bench: Bench, options: BrowserContextOptions = {}): Promise<{ page: Page; faults: string[] }> {
  const context = await bench.browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error.message}`));
  page.on('console', (line) => {
    if (/Content Security Policy|Refused to/.test(line.text())) faults.push(`policy: ${line.text()}`);
    else if (line.type() === 'error' && !/Failed to load resource/.test(line.text())) faults.push(`console: ${line.text()}`);
  });
  page.on('request', (request) => {
    if (/^https?:/.test(request.url()) && !request.url().startsWith(bench.address)) faults.push(`request: ${request.url()}`);
  });
  await page.goto(bench.address);
  await page.locator('#prompt').waitFor();
  return { page, faults };
}
