// Opens the page without a network after one visit. It answers for the files of the build and for nothing else, so what
// is asked of a server never passes through here. With ?v1 in its address, as on a static host, the package's part
// answers /v1 by the engine of an open page (bindings/js).
import { assets, immutable } from '$app/manifest';
import { self } from '$app/service-worker';
import { answerTo, cacheName } from './files.ts';

// A page waits so long for a network that does not answer, where there is a copy.
const NETWORK_MS = 4_000;

const files = { immutable: immutable.map(({ path }) => path), assets: assets.map(({ path }) => path as string) };
const name = cacheName(files.immutable);
const root = new URL('./', self.registration.scope).href;

self.addEventListener('install', (event) => {
  event.waitUntil(keepAll());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(forgetOthers());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const answer = answerTo(
    { method: request.method, url: request.url, navigates: request.mode === 'navigate' },
    root,
    files,
  );
  if (answer === 'pass') return;
  // The package's part would answer for pages as well.
  event.stopImmediatePropagation();
  event.respondWith(
    answer === 'cache' ? fromCache(request) : fromNetwork(request, answer === 'page' ? root : request.url),
  );
});

async function keepAll(): Promise<void> {
  const cache = await caches.open(name);
  const urls = ['./', ...files.immutable, ...files.assets].map((path) => new URL(path.replace(/^\//, ''), root).href);
  // Not `cache.addAll`: one file that cannot be had is no reason to have none.
  const kept = await Promise.all(urls.map((url) => keep(cache, url)));
  if (!kept[0]) throw new Error('The page itself could not be kept.');
}

async function keep(cache: Cache, url: string): Promise<boolean> {
  if (await cache.match(url)) return true;
  const response = await fetch(url, { cache: 'no-cache' }).catch(() => undefined);
  if (response?.status !== 200) return false;
  await cache.put(url, response);
  return true;
}

async function forgetOthers(): Promise<void> {
  for (const other of await caches.keys()) {
    if (other.startsWith('puna-web-') && other !== name) await caches.delete(other);
  }
}

async function fromCache(request: Request): Promise<Response> {
  const kept = await caches.match(request, { cacheName: name });
  return kept ?? fromNetwork(request, request.url);
}

// The newest, else what there is.
async function fromNetwork(request: Request, key: string): Promise<Response> {
  const cache = await caches.open(name);
  const coming = fetch(request).then(async (response) => {
    // A full storage is no reason to fail.
    if (response.status === 200 && response.type === 'basic')
      await cache.put(key, response.clone()).catch(() => undefined);
    return response;
  });
  coming.catch(() => undefined);
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, NETWORK_MS));
  const first = await Promise.race([coming, late]).catch(() => undefined);
  return first ?? (await cache.match(key)) ?? coming;
}

// Behind our own listeners, so that they are heard first. A build without the tab's engine has no such part, and opens without a network
// all the same.
if (new URL(self.location.href).searchParams.has('v1')) {
  try {
    (self as unknown as { importScripts(address: string): void }).importScripts('./puna/service_worker.js');
  } catch {
    // Nobody answers /v1.
  }
}
