// Blobs as chunks in a store of keys and values, for browsers without synchronous access handles: over the Cache API or IndexedDB.
//   blob/<digest>           {"size", "data"}: a complete blob; `data` names its chunks
//   partial/<key>           {"header", "data"}: a download
//   data/<data>/<i>         chunk i
//   record/<key>            records
// A blob appears by writing blob/<digest>, the last step of a download; chunks that neither kind of entry names are removed.
import { PunaError } from '../errors.js';
import {
  kChunkBytes,
  type BlobReader,
  type BlobStore,
  type PartialBlob,
  type PartialHeader,
  type RecordStore,
  type StoredFile,
  type StoreKind,
} from './blob_store.js';
import { parseHeader } from './journal.js';
import { isLeftover, kStoreLock, withLock } from './locks.js';

export interface KeyValueStore {
  get(key: string): Promise<Blob | null>;
  put(key: string, value: Blob): Promise<void>;
  delete(key: string): Promise<void>;
  keys(prefix: string): Promise<string[]>;
}

interface BlobEntry {
  size: number;
  data: string;
}

interface PartialEntry {
  header: string; // PartialHeader as JSON
  data: string;
}

export class ChunkStore implements BlobStore {
  readonly records: RecordStore;

  private constructor(
    readonly kind: StoreKind,
    private readonly values: KeyValueStore,
  ) {
    this.records = {
      get: (key) => getJson(values, `record/${key}`),
      put: (key, value) => putJson(values, `record/${key}`, value),
      delete: (key) => values.delete(`record/${key}`),
      keys: async () => (await values.keys('record/')).map((key) => key.slice('record/'.length)),
    };
  }

  static async open(kind: StoreKind, values: KeyValueStore): Promise<ChunkStore> {
    const store = new ChunkStore(kind, values);
    await withLock(kStoreLock, undefined, () => store.heal());
    return store;
  }

  async open(digest: string): Promise<BlobReader | null> {
    const entry = await getJson<BlobEntry>(this.values, `blob/${digest}`);
    return entry && new ChunkReader(this.values, entry);
  }

  async resume(key: string): Promise<PartialBlob | null> {
    const entry = await getJson<PartialEntry>(this.values, `partial/${key}`);
    const header = entry && parseHeader(entry.header);
    if (!entry || !header) return null;
    const prefix = `data/${entry.data}/`;
    const chunks = (await this.values.keys(prefix)).map((name) => Number(name.slice(prefix.length)));
    return new ChunkPartial(this.values, key, entry.data, header, new Set(chunks));
  }

  async begin(key: string, header: PartialHeader): Promise<PartialBlob> {
    await this.remove(key);
    const data = `${key}~${crypto.randomUUID()}`;
    await putJson(this.values, `partial/${key}`, { header: JSON.stringify(header), data } satisfies PartialEntry);
    return new ChunkPartial(this.values, key, data, header, new Set());
  }

  async remove(name: string): Promise<void> {
    for (const entryName of [`blob/${name}`, `partial/${name}`]) {
      const entry = await getJson<{ data: string }>(this.values, entryName);
      await this.values.delete(entryName);
      if (entry) await this.removeData(entry.data);
    }
  }

  async list(): Promise<StoredFile[]> {
    const files: StoredFile[] = [];
    for (const key of await this.values.keys('blob/')) {
      const entry = await getJson<BlobEntry>(this.values, key);
      if (entry) files.push({ name: key.slice('blob/'.length), bytes: entry.size, complete: true });
    }
    for (const key of await this.values.keys('partial/')) {
      const entry = await getJson<PartialEntry>(this.values, key);
      const chunks = entry ? await this.values.keys(`data/${entry.data}/`) : [];
      files.push({ name: key.slice('partial/'.length), bytes: chunks.length * kChunkBytes, complete: false });
    }
    return files;
  }

  private async heal(): Promise<void> {
    for (const key of await this.values.keys('partial/')) {
      const name = key.slice('partial/'.length);
      if (await isLeftover(name)) await this.remove(name);
    }
    const named = new Set<string>();
    for (const prefix of ['blob/', 'partial/']) {
      for (const key of await this.values.keys(prefix)) {
        const entry = await getJson<{ data: string }>(this.values, key);
        if (entry) named.add(entry.data);
      }
    }
    for (const key of await this.values.keys('data/')) {
      if (!named.has(key.slice('data/'.length, key.lastIndexOf('/')))) await this.values.delete(key);
    }
  }

  private async removeData(data: string): Promise<void> {
    for (const key of await this.values.keys(`data/${data}/`)) await this.values.delete(key);
  }
}

class ChunkPartial implements PartialBlob {
  private readonly window: ChunkWindow;

  constructor(
    private readonly values: KeyValueStore,
    private readonly key: string,
    private readonly data: string,
    readonly header: PartialHeader,
    private readonly chunks: Set<number>,
  ) {
    this.window = new ChunkWindow(values, data);
  }

  has(chunk: number): boolean {
    return this.chunks.has(chunk);
  }

  async write(chunk: number, bytes: Uint8Array): Promise<void> {
    await this.values.put(`data/${this.data}/${chunk}`, new Blob([bytes as Uint8Array<ArrayBuffer>]));
    this.window.forget(chunk);
    this.chunks.add(chunk);
  }

  read(offset: number, out: Uint8Array): Promise<void> {
    return this.window.read(offset, out);
  }

  async commit(digest: string, size: number): Promise<void> {
    const there = await getJson<BlobEntry>(this.values, `blob/${digest}`); // the same file came from another address
    if (!there) await putJson(this.values, `blob/${digest}`, { size, data: this.data } satisfies BlobEntry);
    await this.values.delete(`partial/${this.key}`);
    if (there) for (const key of await this.values.keys(`data/${this.data}/`)) await this.values.delete(key);
  }

  close(): void {}
}

class ChunkReader implements BlobReader {
  readonly sync = false;

  readonly size: number;
  private readonly window: ChunkWindow;

  constructor(values: KeyValueStore, entry: BlobEntry) {
    this.size = entry.size;
    this.window = new ChunkWindow(values, entry.data);
  }

  read(offset: number, out: Uint8Array): Promise<void> {
    return this.window.read(offset, out);
  }

  close(): void {}
}

// Reads bytes anywhere in a file's chunks. The latest ones are kept: the engine reads pieces far smaller than a chunk, of some tensors in
// turns, and a store gives whole chunks.
class ChunkWindow {
  private static readonly kKept = 4;
  private kept: { chunk: number; bytes: Promise<Uint8Array> }[] = []; // the latest last

  constructor(
    private readonly values: KeyValueStore,
    private readonly data: string,
  ) {}

  async read(offset: number, out: Uint8Array): Promise<void> {
    for (let done = 0; done < out.length; ) {
      const chunk = Math.floor((offset + done) / kChunkBytes);
      const start = (offset + done) % kChunkBytes;
      const length = Math.min(out.length - done, kChunkBytes - start);
      const bytes = (await this.chunk(chunk)).subarray(start, start + length);
      if (bytes.length !== length) {
        throw new PunaError('corrupt', `Chunk ${chunk} of a stored file is missing or short; delete the model and load it again.`);
      }
      out.set(bytes, done);
      done += length;
    }
  }

  forget(chunk: number): void {
    this.kept = this.kept.filter((one) => one.chunk !== chunk);
  }

  private chunk(chunk: number): Promise<Uint8Array> {
    const known = this.kept.find((one) => one.chunk === chunk);
    this.forget(chunk);
    const bytes = known?.bytes ?? this.fetch(chunk);
    this.kept = [...this.kept.slice(1 - ChunkWindow.kKept), { chunk, bytes }];
    if (!known) bytes.catch(() => this.forget(chunk)); // the next read asks again
    return bytes;
  }

  private async fetch(chunk: number): Promise<Uint8Array> {
    const blob = await this.values.get(`data/${this.data}/${chunk}`);
    return new Uint8Array(blob ? await blob.arrayBuffer() : new ArrayBuffer(0));
  }
}

async function getJson<T>(values: KeyValueStore, key: string): Promise<T | null> {
  const blob = await values.get(key);
  if (!blob) return null;
  try {
    return JSON.parse(await blob.text()) as T;
  } catch {
    return null;
  }
}

function putJson(values: KeyValueStore, key: string, value: unknown): Promise<void> {
  return values.put(key, new Blob([JSON.stringify(value)]));
}
