// The service worker (dist/service_worker.js): answers /v1/* fetches of the pages in its scope by the engine of an open page, and
// keeps their files for offline use. It runs no model itself: browsers end service workers when they like.
import { type ErrorData, toErrorData } from './errors.js';
import { RpcClient } from './rpc/client.js';
import { portOf } from './rpc/port.js';
import { answer, isForEngine, type RemoteEngine } from './service_worker/api.js';
import type { ToPage, ToServiceWorker } from './service_worker/messages.js';
import { fromNetworkOrCache, isPageFile, keep } from './service_worker/page_cache.js';

// The scope's own types are in lib.webworker, which cannot stand beside lib.dom.
interface Page {
  id: string;
  postMessage(message: ToPage): void;
}
interface Scope extends EventTarget {
  registration: ServiceWorkerRegistration;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void>; get(id: string): Promise<Page | undefined>; matchAll(options?: { includeUncontrolled?: boolean }): Promise<Page[]> };
}
type Extendable = Event & { waitUntil(done: Promise<unknown>): void };
type FetchOf = Extendable & { request: Request; clientId: string; respondWith(response: Promise<Response>): void };
type MessageOf = Extendable & { data: ToServiceWorker; source: Page; ports: MessagePort[] };

const scope = self as unknown as Scope;
const engines = new Map<string, RemoteEngine & { calls: RpcClient }>(); // by page
const kAnswerMs = 2000; // for pages to say that they have an engine
let onEngine: () => void = () => undefined;

scope.addEventListener('install', (event) => (event as Extendable).waitUntil(scope.skipWaiting()));
scope.addEventListener('activate', (event) => (event as Extendable).waitUntil(scope.clients.claim()));

scope.addEventListener('message', (event) => {
  const message = event as MessageOf;
  const { data, source, ports } = message;
  if (data.type === 'keep') message.waitUntil(keepPages(data.urls).then((failure) => ports[0]!.postMessage(failure)));
  if (data.type === 'gone') forget(source.id);
  if (data.type === 'engine') {
    forget(source.id);
    engines.set(source.id, { model: data.model, calls: new RpcClient(portOf(ports[0]!)) });
    onEngine();
  }
});

scope.addEventListener('fetch', (event) => {
  const fetched = event as FetchOf;
  const { request, clientId } = fetched;
  const url = new URL(request.url);
  const root = new URL(scope.registration.scope);
  const path = url.origin === root.origin && url.pathname.startsWith(root.pathname) ? url.pathname.slice(root.pathname.length) : null;
  if (path !== null && isForEngine(path)) fetched.respondWith(answer(path, request, () => findEngine(clientId)));
  else if (isPageFile(request)) fetched.respondWith(fromNetworkOrCache(request));
});

// Null when they are kept, as far as they could be had.
function keepPages(urls: readonly string[]): Promise<ErrorData | null> {
  return keep(urls).then(() => null, toErrorData);
}

// The engine of the page that asks, else of any other; asked for when this service worker has just started anew.
async function findEngine(clientId: string): Promise<RemoteEngine | null> {
  const found = await knownEngine(clientId);
  if (found) return found;
  const come = new Promise<void>((resolve) => {
    onEngine = resolve;
    setTimeout(resolve, kAnswerMs);
  });
  for (const page of await scope.clients.matchAll({ includeUncontrolled: true })) page.postMessage({ type: 'who' });
  await come;
  return knownEngine(clientId);
}

async function knownEngine(clientId: string): Promise<RemoteEngine | null> {
  for (const id of engines.keys()) if (!(await scope.clients.get(id))) forget(id); // a page that is closed
  return engines.get(clientId) ?? [...engines.values()].at(-1) ?? null;
}

function forget(id: string): void {
  engines.get(id)?.calls.close();
  engines.delete(id);
}
