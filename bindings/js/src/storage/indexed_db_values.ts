// Keys and values in IndexedDB: one object store.
import type { KeyValueStore } from './chunk_store.js';

export const kDatabaseName = 'puna-blobs';
const kStoreName = 'values';

export class IndexedDbValues implements KeyValueStore {
  private constructor(private readonly database: IDBDatabase) {}

  static async open(): Promise<IndexedDbValues> {
    const request = indexedDB.open(kDatabaseName, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(kStoreName);
    return new IndexedDbValues(await done(request));
  }

  async get(key: string): Promise<Blob | null> {
    const bytes = await done<ArrayBuffer | undefined>(this.values('readonly').get(key));
    return bytes ? new Blob([bytes]) : null;
  }

  // Bytes rather than the Blob: some browsers cannot keep Blobs in private windows.
  async put(key: string, value: Blob): Promise<void> {
    const bytes = await value.arrayBuffer();
    const store = this.values('readwrite');
    store.put(bytes, key);
    await finished(store.transaction);
  }

  async delete(key: string): Promise<void> {
    const store = this.values('readwrite');
    store.delete(key);
    await finished(store.transaction);
  }

  async keys(prefix: string): Promise<string[]> {
    const keys = await done(this.values('readonly').getAllKeys(IDBKeyRange.bound(prefix, prefix + '\uffff')));
    return keys.map(String);
  }

  private values(mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(kStoreName, mode).objectStore(kStoreName);
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('An IndexedDB request failed.'));
  });
}

function finished(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('An IndexedDB transaction was aborted.'));
  });
}
