// One file of a server as a part of a model: from the store where it is there, else downloaded into it, once for all tabs.
import { Download, type DownloadOptions } from '../download/download.js';
import type { ModelPart } from '../engine/model_files.js';
import type { BlobReader, BlobStore } from '../storage/blob_store.js';
import { openHeld } from '../storage/held_blob.js';
import { downloadLock, withLock } from '../storage/locks.js';
import { knownOnHub } from './hub.js';
import { type AddressRecord, addressKey } from './keys.js';
import type { DownloadProgress } from './progress.js';

export interface RemoteFile {
  path: string;
  url: string;
  digest: string | null;
  size: number | null;
}

export interface RemoteOptions extends Omit<DownloadOptions, 'onProgress'> {
  store: BlobStore;
  progress: DownloadProgress;
}

export interface OpenedFile {
  part: ModelPart;
  digest: Promise<string>; // once it is a blob of the store
  close(): void;
}

// Resolves when size is known and bytes can be read.
export async function openRemoteFile(file: RemoteFile, options: RemoteOptions): Promise<OpenedFile> {
  const key = file.digest ?? (await addressKey(file.url));
  const stored = await openStored(file, key, options);
  if (stored) return stored;
  return new Promise((resolve, reject) => {
    const download = () => openLocked(file, key, options, resolve);
    const locked = withLock(downloadLock(key), options.signal, download, () => options.progress.update(file.path, { waiting: true }));
    locked.catch(reject);
  });
}

// Downloads unless another tab has just done so; holds the lock until it is done.
async function openLocked(file: RemoteFile, key: string, options: RemoteOptions, resolve: (file: OpenedFile) => void): Promise<void> {
  const { store, progress } = options;
  progress.update(file.path, { waiting: false });
  const keepAddress = async (digest: string) => {
    if (file.digest === null) await store.records.put(key, { digest } satisfies AddressRecord);
    return digest;
  };
  const stored = await openStored(file, key, options);
  if (stored) return resolve(stored);
  const known = file.digest === null ? await knownOnHub(file.url, options.signal) : null;
  const elsewhere = known && (await openStored({ ...file, ...known }, key, options)); // loaded before by another address
  if (elsewhere) {
    await keepAddress(known.digest);
    return resolve(elsewhere);
  }
  const download = new Download(
    store,
    { url: file.url, key, digest: file.digest ?? known?.digest ?? null, size: file.size ?? known?.size ?? null },
    { ...options, onProgress: (done, total) => progress.update(file.path, { done, total, network: true }) },
  );
  const digest = download.run().then(keepAddress);
  digest.catch(() => undefined); // it is handed on, or opened() says the same
  await download.opened();
  const part: ModelPart = { path: file.path, size: download.size!, read: (offset, out) => download.read(offset, out) };
  resolve({ part, digest, close: () => download.close() });
  await digest.catch(() => undefined);
}

async function openStored(file: RemoteFile, key: string, { store, progress }: RemoteOptions): Promise<OpenedFile | null> {
  const digest = file.digest ?? ((await store.records.get(key)) as AddressRecord | null)?.digest;
  const reader = digest ? await openHeld(store, digest) : null;
  if (!digest || !reader) return null;
  progress.update(file.path, { done: reader.size, total: reader.size });
  return { part: partOf(file.path, reader), digest: Promise.resolve(digest), close: () => reader.close() };
}

export function partOf(path: string, reader: BlobReader): ModelPart {
  return { path, size: reader.size, sync: reader.sync, read: (offset, out) => reader.read(offset, out) };
}
