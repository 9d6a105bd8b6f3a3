// Where model files are kept: blobs under their SHA-256, and downloads that are not complete yet. One interface, three places:
// opfs_store.ts (origin private file system), and chunk_store.ts over the Cache API or IndexedDB. Read next: opfs_store.ts.

// A download is kept and resumed in chunks of so many bytes; the last one of a file is shorter.
export const kChunkBytes = 4 << 20;

export type StoreKind = 'opfs' | 'cache' | 'indexeddb';

export interface BlobReader {
  readonly size: number;
  readonly sync: boolean; // every read is over when it returns
  // Fills `out` from `offset`; at once where the place can. The caller keeps within the size.
  read(offset: number, out: Uint8Array): void | Promise<void>;
  close(): void;
}

// What is known of the file that is downloaded; written once, when the download begins.
export interface PartialHeader {
  url: string;
  size: number | null; // null: the server does not say
  digest: string | null; // sha256-<64 hex digits>, where it is known beforehand
  etag: string | null;
  lastModified: string | null;
}

export interface PartialBlob {
  readonly header: PartialHeader;
  has(chunk: number): boolean;
  // Stores a chunk; once this returns, a cut does not lose it.
  write(chunk: number, bytes: Uint8Array): void | Promise<void>;
  read(offset: number, out: Uint8Array): void | Promise<void>;
  // Makes it the blob `digest` of so many bytes and closes it.
  commit(digest: string, size: number): Promise<void>;
  close(): void;
}

export interface StoredFile {
  name: string; // sha256-..., or the key of a download
  bytes: number;
  complete: boolean;
}

// Small JSON values beside the blobs; of models, see sources/model_records.ts.
export interface RecordStore {
  get(key: string): Promise<unknown>; // null where there is none or it cannot be read
  put(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<void>;
  keys(): Promise<string[]>;
}

// The caller holds the lock of `key` (locks.ts) around resume(), begin() and what it does with their results.
export interface BlobStore {
  readonly kind: StoreKind;
  readonly records: RecordStore;
  open(digest: string): Promise<BlobReader | null>;
  resume(key: string): Promise<PartialBlob | null>;
  begin(key: string, header: PartialHeader): Promise<PartialBlob>; // from nothing: an earlier one is removed
  remove(name: string): Promise<void>; // a blob or a download; nothing where there is none
  list(): Promise<StoredFile[]>;
}

export function chunkCount(size: number): number {
  return Math.ceil(size / kChunkBytes);
}

// Bytes of chunk `index` in a file of `size` bytes.
export function chunkLength(index: number, size: number): number {
  return Math.min(kChunkBytes, size - index * kChunkBytes);
}
