// A page of the built interface before a real `puna serve`, for the tests of whole flows. Nothing of it lasts. PUNA_SERVE: further
// arguments of the server.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { fair, serve, type Weather } from './serve.ts';

export const chromiumPath = [process.env['PUNA_CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => path && existsSync(path),
)!;

// A name by which the browsers of these tests find this machine as another one, without the rights of localhost.
export const lanHost = 'lan.test';

// A server of models with the page before it.
export interface Site {
  address: string;
  // The server itself.
  api: string;
  weather: Weather;
  end: () => void;
}

// One whose server is a process of ours.
export interface OwnSite extends Site {
  // Stops the server in the middle of what it does, and lets it go on.
  pause: () => void;
  resume: () => void;
  // Ends all connections to it.
  sever: () => void;
  // Ends it at once, and begins one like it at the same address.
  restart: () => Promise<void>;
}

export interface Bench extends Site {
  browser: Browser;
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

// `what` says which models: `--model FILE` or `--models-dir FOLDER`. The page comes from `build` alone.
export async function site(puna: string, what: readonly string[], build: string, env: NodeJS.ProcessEnv = {}): Promise<OwnSite> {
  const begin = (port: string) => spawn(puna, ['serve', ...what, '--no-web', '--port', port], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let server = begin('0');
  const api = await listening(server);
  const weather = fair();
  const page = await serve(build, api, weather);
  const restart = async () => {
    const ended = new Promise((done) => server.once('exit', done));
    server.kill('SIGKILL');
    page.sever();
    await ended;
    server = begin(new URL(api).port);
    await listening(server);
  };
  const pause = () => void server.kill('SIGSTOP');
  const resume = () => void server.kill('SIGCONT');
  return { address: page.address, api, weather, pause, resume, restart, sever: page.sever, end: () => (page.close(), void server.kill()) };
}

export const served = () => process.env['PUNA_SERVE']?.split(' ').filter(Boolean) ?? ['--ctx-size', '2048'];

export async function bench(puna: string, model: string, build: string): Promise<Bench> {
  const at = await site(puna, ['--model', model, ...served()], build);
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', `--host-resolver-rules=MAP ${lanHost} 127.0.0.1`] });
  return { ...at, browser, end: async () => (await browser.close(), at.end()) };
}

// Errors, broken policies and requests to elsewhere: there are none in any test.
export function watched(page: Page, address: string): string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error.message}`));
  page.on('console', (line) => {
    if (/Content Security Policy|Refused to/.test(line.text())) faults.push(`policy: ${line.text()}`);
    // What plain http has no use of is told there; it harms nothing.
    else if (line.type() === 'error' && !/Failed to load resource|Cross-Origin-Opener-Policy header has been ignored/.test(line.text())) faults.push(`console: ${line.text()}`);
  });
  page.on('request', (request) => {
    if (/^https?:/.test(request.url()) && !request.url().startsWith(new URL(address).origin)) faults.push(`request: ${request.url()}`);
  });
  return faults;
}

export async function shown(context: BrowserContext, address: string): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage();
  const faults = watched(page, address);
  await page.goto(address);
  await page.locator('#prompt').waitFor();
  return { page, faults };
}

export const window = { viewport: { width: 1280, height: 800 }, locale: 'en-GB' };

export async function open({ browser, address }: Pick<Bench, 'browser' | 'address'>, options: BrowserContextOptions = {}) {
  return await shown(await browser.newContext({ ...window, ...options }), address);
}
