// The npm package `puna` (bindings/js), as far as the page uses it. It is no part of the bundle: the build may have it
// in the folder puna/ beside the page, or not.
import type { Chunk } from '../chunks.ts';

export interface PunaEngine {
  readonly info: {
    name: string;
    architecture: string;
    device: { type: 'gpu' | 'cpu'; name: string; why: string };
    context: number;
    trained_context: number;
    chat: boolean;
    embeddings: boolean;
    media: { images: boolean; audio: boolean } | null;
  };
  chat(request: object, options: { signal: AbortSignal }): AsyncIterable<Chunk>;
  countTokens(request: object): Promise<number>;
  close(): Promise<void>;
}

export interface PunaProgress {
  stage: 'waiting' | 'download' | 'load';
  doneBytes: number;
  totalBytes: number | null;
}

export interface StoredModel {
  name: string;
  id: string;
  bytes: number;
  totalBytes: number | null;
  complete: boolean;
  // The id of the encoder that it is loaded with.
  mmproj: string | null;
  // It is one.
  encoder: boolean;
}

export interface PunaPackage {
  load(
    source: string | File | File[],
    options: { mmproj?: string; share: boolean; keep?: boolean; signal: AbortSignal; onProgress: (progress: PunaProgress) => void },
  ): Promise<PunaEngine>;
  capabilities(): Promise<{
    secureContext: boolean;
    gpu: { software: boolean } | null;
    simd: boolean;
    threads: number;
    storage: { opfs: boolean; cache: boolean; indexeddb: boolean; usedBytes: number | null; quotaBytes: number | null };
  }>;
  // `script`: the address of a service worker that has the package's part in it.
  serviceWorker(script: string): Promise<{ serve(engine: PunaEngine): () => void }>;
  models: {
    catalogue: readonly { name: string; family: string; fileType: string; bytes: number; sha256: string }[];
    list(): Promise<StoredModel[]>;
    delete(nameOrId: string): Promise<number>;
  };
}

let loading: Promise<PunaPackage> | undefined;

// Rejects where the build has none; the next call tries again, as the network may have been away.
export function loadPackage(): Promise<PunaPackage> {
  const address = new URL('./puna/index.js', document.baseURI).href;
  loading ??= import(/* @vite-ignore */ address).then((module: { Puna: PunaPackage }) => module.Puna);
  loading.catch(() => (loading = undefined));
  return loading;
}
