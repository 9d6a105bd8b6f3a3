// What a page can ask of its worker (../protocol.ts): one model, loaded once.
import { PunaError, toPunaError } from '../errors.js';
import type { ModelFiles } from '../engine/model_files.js';
import type { CallContext } from '../rpc/server.js';
import { deleteModels } from '../sources/model_records.js';
import { openModel } from '../sources/open_model.js';
import { openWithEncoder, rememberEncoder, storedEncoder } from '../sources/with_encoder.js';
import type { Progress } from '../sources/progress.js';
import type { SourceSpec } from '../sources/source.js';
import type { BlobStore } from '../storage/blob_store.js';
import { openStore } from '../storage/open_store.js';
import type { CallHandlers, LoadParams } from '../protocol.js';
import type { CreateHost } from './engine_api.js';
import { type EngineState, RecoveringEngine } from './recovering_engine.js';

export function workerCalls(createHost: CreateHost): CallHandlers {
  let loading: Promise<RecoveringEngine> | null = null;
  const watchers = new Set<(state: EngineState) => void>();
  const engine = (): Promise<RecoveringEngine> => {
    if (!loading) throw new PunaError('invalid_argument', 'No model is loaded.');
    return loading;
  };
  const tell = (state: EngineState) => watchers.forEach((watcher) => watcher(state));

  return {
    load: async (params, context) => {
      if (loading) throw new PunaError('invalid_argument', 'A model is loaded already; close the engine and load another one.');
      loading = loadModel(createHost, params, context, tell);
      loading.catch(() => (loading = null));
      return (await loading).info();
    },
    // Events for as long as the caller listens: the GPU went away, and what came of it.
    watch: (_, { emit, signal }) => {
      const watcher = (state: EngineState) => void emit(state);
      watchers.add(watcher);
      return new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          watchers.delete(watcher);
          resolve();
        });
      });
    },
    chat: async (request, { emit, signal }) => (await engine()).chat(request, emit, signal),
    complete: async (request, { emit, signal }) => (await engine()).complete(request, emit, signal),
    embed: async (request) => (await engine()).use((host) => host.embed(request)),
    tokenize: async ({ text, options }) => (await engine()).use((host) => host.tokenize(text, options)),
    detokenize: async (tokens) => (await engine()).use((host) => host.detokenize(tokens)),
    logits: async (input) => (await engine()).use((host) => host.logits(input)),
    embedMedia: async (input) => (await engine()).use((host) => host.embedMedia(input)),
    countTokens: async (request) => (await engine()).use((host) => host.countTokens(request)),
    bench: async (options) => (await engine()).use((host) => host.bench(options)),
    memory: async () => (await engine()).use((host) => host.memory()),
    close: async () => {
      const running = await loading?.catch(() => null);
      await running?.settled().catch(() => undefined);
      running?.close();
      loading = null;
    },
  };
}

async function loadModel(
  createHost: CreateHost,
  { source, mmproj, options, storage, keep, connections }: LoadParams,
  { emit, signal }: CallContext,
  tell: (state: EngineState) => void,
): Promise<RecoveringEngine> {
  let downloading = false; // the engine reads as the file comes, and is no further than that
  const report = (progress: Progress) => {
    if (progress.stage !== 'load') downloading = progress.source === 'network' && progress.doneBytes !== progress.totalBytes;
    if (progress.stage !== 'load' || !downloading || progress.doneBytes === progress.totalBytes) void emit(progress);
  };
  let store: Promise<BlobStore> | null = null;
  const open = async (onProgress: (progress: Progress) => void, wanted: AbortSignal): Promise<ModelFiles> => {
    const use = { openStore: () => (store ??= openStore(storage)), signal: wanted, keep, connections };
    const encoder = mmproj === undefined && source.kind !== 'files' ? await storedEncoder(source, await use.openStore()) : mmproj;
    return encoder ? openWithEncoder(source, encoder, onProgress, use) : openModel(source, { ...use, onProgress });
  };
  const again = () => open(() => undefined, new AbortController().signal);
  let model: ModelFiles | null = null;
  const start = async () => {
    model = await open(report, signal);
    const onProgress = (doneBytes: number, totalBytes: number) => report({ stage: 'load', source: 'storage', doneBytes, totalBytes, bytesPerSecond: null });
    const engine = await RecoveringEngine.load(createHost, model, again, options, onProgress, signal, tell);
    if (mmproj) await rememberEncoder(source, mmproj, keep, () => (store ??= openStore(storage))).catch(() => undefined);
    return engine;
  };
  try {
    return await start();
  } catch (error) {
    const failure = toPunaError(error);
    // The file on the server became another one after the engine had read of it: what was stored is gone, so begin anew, once.
    if (failure.code === 'changed') return start();
    if (failure.code === 'corrupt' && store) {
      await (model as ModelFiles | null)?.verified.catch(() => undefined); // nothing of it is written any more
      await forget(source, await store);
      if (mmproj) await forget(mmproj, await store);
    }
    throw failure;
  }
}

// A damaged file of an address may have been put right when it is loaded again, unless its SHA-256 says that it is as it should be.
async function forget(source: SourceSpec, store: BlobStore): Promise<void> {
  if (source.kind === 'folder' || (source.kind === 'url' && source.digest === null)) {
    await deleteModels([store], source.id).catch(() => undefined); // it may not have come as far as being stored
  }
}
