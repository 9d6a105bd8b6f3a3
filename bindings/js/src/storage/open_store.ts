// Picks where blobs are kept, by what the browser has.
import { PunaError, toPunaError } from '../errors.js';
import type { BlobStore, StoreKind } from './blob_store.js';
import { CacheValues } from './cache_values.js';
import { ChunkStore } from './chunk_store.js';
import { IndexedDbValues, kDatabaseName } from './indexed_db_values.js';
import { OpfsStore } from './opfs_store.js';

export type StorageChoice = 'auto' | StoreKind;

const openers: Record<StoreKind, () => Promise<BlobStore>> = {
  opfs: () => OpfsStore.open(),
  cache: async () => ChunkStore.open('cache', await CacheValues.open()),
  indexeddb: async () => ChunkStore.open('indexeddb', await IndexedDbValues.open()),
};

// The store to load models into; needs a dedicated worker for OPFS.
export async function openStore(choice: StorageChoice = 'auto'): Promise<BlobStore> {
  // The Cache API last: WebKitGTK 2.50 stops answering its reads after some ten large entries of an earlier visit.
  const kinds: StoreKind[] = choice === 'auto' ? ['opfs', 'indexeddb', 'cache'] : [choice];
  const reasons: string[] = [];
  for (const kind of kinds) {
    if (!(kind in openers)) throw new PunaError('invalid_argument', `There is no storage "${kind}"; use auto, opfs, cache or indexeddb.`);
    const missing = lacks(kind);
    if (missing) {
      reasons.push(`${kind}: ${missing}`);
      continue;
    }
    try {
      return await openers[kind]();
    } catch (error) {
      reasons.push(`${kind}: ${toPunaError(error).message}`);
    }
  }
  throw new PunaError('storage', `This page cannot keep files: ${reasons.join('; ')}. Serve it over https or from localhost, and not in a private window.`);
}

// Every store that has been used in this browser, for listing and deleting; works in a page as well.
export async function openUsedStores(): Promise<BlobStore[]> {
  const stores: BlobStore[] = [];
  for (const kind of ['opfs', 'cache', 'indexeddb'] as const) {
    if (await isUsed(kind).catch(() => false)) stores.push(await openers[kind]());
  }
  return stores;
}

// What the browser lacks for this kind of store; empty where nothing.
export function lacks(kind: StoreKind): string {
  if (kind === 'cache') return 'caches' in self ? '' : 'no Cache API (the page is not in a secure context)';
  if (kind === 'indexeddb') return 'indexedDB' in self ? '' : 'no IndexedDB';
  if (!navigator.storage?.getDirectory) return 'no private file system';
  const handle = globalThis.FileSystemFileHandle?.prototype;
  if (!handle?.createSyncAccessHandle) return 'no synchronous access handles';
  return handle.move ? '' : 'files cannot be renamed';
}

async function isUsed(kind: StoreKind): Promise<boolean> {
  if (kind === 'cache') return 'caches' in self && caches.has('puna-blobs');
  if (kind === 'indexeddb') return (await indexedDB.databases()).some(({ name }) => name === kDatabaseName);
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle('puna').then(
    () => true,
    () => false,
  );
}
