// The page's side of the service worker: registers it, lets it keep the page's files, and answers what it asks of the engine.
import type { Engine } from '../engine.js';
import { type ErrorData, fromErrorData, PunaError } from '../errors.js';
import type { ChatRequest, CompletionRequest, EmbeddingRequest } from '../openai_types.js';
import { portOf } from '../rpc/port.js';
import { type CallContext, type Handlers, serveCalls } from '../rpc/server.js';
import type { ToPage, ToServiceWorker } from './messages.js';

export interface ServiceWorkerLink {
  // Fetches of /v1/chat/completions and the like by pages in scope are answered by this engine until the returned function is called.
  serve(engine: Engine): () => void;
  // Keeps the page with what it has loaded, so that it opens without a network; and other addresses of this site.
  keepOffline(more?: readonly string[]): Promise<void>;
}

const kEngineFiles = ['worker.js', 'puna.js', 'puna.wasm'];
const kThreadFiles = ['puna-mt.js', 'puna-mt.wasm'];

// `script` is the address of the package's service_worker.js, copied to where its folder covers the page.
export async function registerServiceWorker(script: string | URL, options: { scope?: string } = {}): Promise<ServiceWorkerLink> {
  if (!('serviceWorker' in navigator)) throw new PunaError('unsupported', 'This page has no service workers; serve it over https or from localhost.');
  let registration: ServiceWorkerRegistration;
  try {
    registration = await navigator.serviceWorker.register(script, options);
    await activated(registration);
  } catch (error) {
    throw new PunaError('unsupported', `The service worker ${String(script)} could not be registered: ${(error as Error).message}`);
  }
  return { serve: (engine) => serve(registration, engine), keepOffline: (more) => keepOffline(registration, more ?? []) };
}

function activated(registration: ServiceWorkerRegistration): Promise<void> {
  const worker = registration.installing ?? registration.waiting ?? registration.active!;
  return new Promise((resolve, reject) => {
    const check = () => {
      if (worker.state === 'activated') resolve();
      if (worker.state === 'redundant') reject(new Error('it did not install'));
    };
    worker.addEventListener('statechange', check);
    check();
  });
}

// The service worker of today: while a page is open, a new version of it may take over.
function current({ active }: ServiceWorkerRegistration): ServiceWorker {
  if (active) return active;
  throw new PunaError('unsupported', 'The service worker of this page was removed; register it again.');
}

function serve(registration: ServiceWorkerRegistration, engine: Engine): () => void {
  const stops: (() => void)[] = [];
  const offer = (worker: ServiceWorker) => {
    const { port1, port2 } = new MessageChannel();
    const cancelAll = serveCalls(portOf(port1), engineCalls(engine));
    stops.push(() => {
      cancelAll();
      port1.close();
    });
    worker.postMessage({ type: 'engine', model: engine.info.name } satisfies ToServiceWorker, [port2]);
  };
  // The browser ends idle service workers; one that starts again, or takes over, asks for the engine.
  const onMessage = ({ data, source }: MessageEvent<ToPage>) => {
    if (data.type === 'who') offer(source as ServiceWorker);
  };
  navigator.serviceWorker.addEventListener('message', onMessage);
  offer(current(registration));
  return () => {
    navigator.serviceWorker.removeEventListener('message', onMessage);
    stops.forEach((stop) => stop());
    registration.active?.postMessage({ type: 'gone' } satisfies ToServiceWorker);
  };
}

function engineCalls(engine: Engine): Handlers {
  return {
    chat: async (request: ChatRequest, { signal, emit }: CallContext) => {
      for await (const chunk of engine.chat(request, { signal })) await emit(chunk);
    },
    complete: async (request: CompletionRequest, { signal, emit }: CallContext) => {
      for await (const chunk of engine.complete(request, { signal })) await emit(chunk);
    },
    embed: (request: EmbeddingRequest, { signal }: CallContext) => engine.embed(request, { signal }),
  };
}

async function keepOffline(registration: ServiceWorkerRegistration, more: readonly string[]): Promise<void> {
  const urls = new Set<string>([document.URL.replace(/#.*/, ''), ...more.map((url) => new URL(url, document.baseURI).href)]);
  for (const { name, initiatorType } of performance.getEntriesByType('resource') as PerformanceResourceTiming[]) {
    if (initiatorType !== 'fetch' && initiatorType !== 'xmlhttprequest' && initiatorType !== 'beacon') urls.add(name);
  }
  const folder = [...urls].find((url) => url.endsWith('/worker.js')) ?? import.meta.url;
  for (const file of crossOriginIsolated ? [...kEngineFiles, ...kThreadFiles] : kEngineFiles) urls.add(new URL(file, folder).href);
  const sameOrigin = [...urls].filter((url) => new URL(url).origin === location.origin);
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise<ErrorData | null>((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
  current(registration).postMessage({ type: 'keep', urls: sameOrigin } satisfies ToServiceWorker, [port2]);
  const failure = await answer;
  port1.close();
  if (failure) throw fromErrorData(failure);
}
