// Puna in a page: load a model, chat with it. README.md is the guide; engine.ts what a loaded model can do.
import { capabilities } from './capabilities.js';
import { Engine } from './engine.js';
import { startWorker, type WorkerOptions } from './engine_connection.js';
import { PunaError, throwIfAborted, toPunaError } from './errors.js';
import type { LoadParams } from './protocol.js';
import { clearTexts, keptTexts, type KeptTexts } from './prefixes/prefix_store.js';
import { registerServiceWorker } from './service_worker/register.js';
import { SharedConnection } from './sharing/shared_connection.js';
import { catalogue } from './sources/catalogue.js';
import { deleteModels, listModels, type StoredModel } from './sources/model_records.js';
import type { Progress } from './sources/progress.js';
import { type ModelSource, splitEncoder, toSourceSpec } from './sources/source.js';
import { openUsedStores, type StorageChoice } from './storage/open_store.js';
import type { EngineOptions, LoadedModel } from './worker/engine_api.js';
import type { EngineState } from './worker/recovering_engine.js';

export interface LoadOptions extends EngineOptions, WorkerOptions {
  onProgress?: (progress: Progress) => void;
  mmproj?: ModelSource | null; // the encoder of pictures and sounds: where it comes from, as the model; null: none
  signal?: AbortSignal; // stops the load; what was downloaded is kept
  share?: boolean; // one engine for all tabs of this site
  keep?: boolean; // copy local files into the browser's storage
  storage?: StorageChoice; // where models are kept
  persist?: boolean; // ask the browser not to evict them; true unless set
  connections?: number; // that a download uses, 1 to 8
  onState?: (state: EngineState) => void; // the GPU went away, and what came of it
}

const kEngineOptions = { device: ['auto', 'gpu', 'cpu'], gpuFeatures: ['all', 'baseline'], numerics: ['fast', 'exact'], kvType: ['f32', 'f16', 'q8_0', 'q4_0'], selfTest: [true, false, 'always'] } as const;
const kCountOptions = { context: [0, 2 ** 31 - 1], threads: [1, 64], parallel: [1, 16], imageMaxTokens: [1, 2 ** 16 - 1], connections: [1, 8] } as const;

async function load(source: ModelSource, options: LoadOptions = {}): Promise<Engine> {
  checkOptions(options);
  const { onProgress = () => undefined, signal, onState = () => undefined, share = false, persist = true, assets } = options;
  throwIfAborted(signal);
  const { device, gpuFeatures, numerics, kvType, context, threads, parallel, imageMaxTokens, keepTexts, selfTest, connections } = options;
  const files = splitEncoder(source);
  const encoder = options.mmproj === undefined ? files.mmproj : options.mmproj;
  const params: LoadParams = {
    source: await toSourceSpec(files.mmproj && options.mmproj === undefined ? files.model : source, document.baseURI),
    ...(encoder === undefined ? {} : { mmproj: encoder === null ? null : await toSourceSpec(encoder, document.baseURI) }),
    options: { device, gpuFeatures, numerics, kvType, context, threads, parallel, imageMaxTokens, keepTexts, selfTest },
    storage: options.storage ?? 'auto',
    keep: options.keep ?? false,
    connections,
  };
  if (persist && (params.source.kind !== 'files' || params.keep)) navigator.storage?.persist?.().catch(() => undefined);
  if (share) {
    const { connection, info } = await SharedConnection.open(() => startWorker({ assets }), params, onProgress, signal);
    return Engine.of(connection, info, onState);
  }
  const worker = startWorker({ assets });
  try {
    const info = await worker.call<LoadedModel>('load', params, { signal, onEvent: (progress) => onProgress(progress as Progress) });
    return Engine.of(worker, info, onState);
  } catch (error) {
    worker.close();
    throw toPunaError(error);
  }
}

function checkOptions(options: LoadOptions): void {
  for (const [name, allowed] of Object.entries(kEngineOptions)) {
    const value = options[name as keyof typeof kEngineOptions];
    if (value !== undefined && !(allowed as readonly unknown[]).includes(value)) {
      throw new PunaError('invalid_argument', `The option ${name} is "${value}"; it is one of ${allowed.join(', ')}.`);
    }
  }
  for (const [name, [least, most]] of Object.entries(kCountOptions)) {
    const value = options[name as keyof typeof kCountOptions];
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most)) {
      throw new PunaError('invalid_argument', `The option ${name} is ${String(value)}; it is a whole number from ${least} to ${most}.`);
    }
  }
  checkKeepTexts(options.keepTexts);
}

function checkKeepTexts(value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  const bytes = (value as { bytes?: unknown } | null)?.bytes;
  if (typeof value !== 'object' || value === null || !(bytes === undefined || (Number.isSafeInteger(bytes) && (bytes as number) > 0))) {
    throw new PunaError('invalid_argument', `The option keepTexts is ${JSON.stringify(value)}; it is true, false, or { bytes } with how many are kept at most.`);
  }
}

export const Puna = {
  load,
  capabilities,
  // Lets a service worker answer /v1/* fetches of the page, and keep its files for offline use.
  serviceWorker: registerServiceWorker,
  models: {
    catalogue,
    // What the browser keeps, models that are not complete included.
    list: async (): Promise<StoredModel[]> => listModels(await openUsedStores()),
    // Removes a model by its name or id; resolves with the bytes that were freed.
    delete: async (nameOrId: string): Promise<number> => deleteModels(await openUsedStores(), nameOrId),
  },
  // What engines that were loaded with `keepTexts` have kept of texts, of all models.
  texts: {
    kept: keptTexts,
    // Removes all of it; resolves with the bytes that were freed.
    clear: (): Promise<number> => clearTexts(),
  },
};

export { Engine, PunaError };
export type { Answer, RequestOptions } from './engine.js';
export type { Capabilities } from './capabilities.js';
export type { ErrorCode } from './errors.js';
export type * from './openai_types.js';
export type { CatalogueEntry } from './sources/catalogue.js';
export type { EngineState, KeptTexts, LoadedModel, ModelSource, Progress, StorageChoice, StoredModel };
export type { LogitsInput, MediaInput, Memory } from './worker/engine_api.js';
export type { UrlSource } from './sources/source.js';
export type { ServiceWorkerLink } from './service_worker/register.js';
