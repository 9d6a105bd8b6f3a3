// A store in memory, for tests of downloads outside a browser.
import { type BlobReader, type BlobStore, kChunkBytes, type PartialBlob, type PartialHeader, type RecordStore, type StoredFile } from '../../src/storage/blob_store.js';

interface Partial {
  header: PartialHeader;
  chunks: Map<number, Uint8Array>;
}

export class MemoryStore implements BlobStore {
  readonly kind = 'indexeddb';
  readonly blobs = new Map<string, Uint8Array>();
  readonly partials = new Map<string, Partial>();
  private readonly values = new Map<string, unknown>();

  readonly records: RecordStore = {
    get: async (key) => this.values.get(key) ?? null,
    put: async (key, value) => void this.values.set(key, structuredClone(value)),
    delete: async (key) => void this.values.delete(key),
    keys: async () => [...this.values.keys()],
  };

  async open(digest: string): Promise<BlobReader | null> {
    const bytes = this.blobs.get(digest);
    return bytes ? { size: bytes.length, sync: true, read: (offset, out) => out.set(bytes.subarray(offset, offset + out.length)), close: () => undefined } : null;
  }

  async resume(key: string): Promise<PartialBlob | null> {
    const partial = this.partials.get(key);
    return partial ? this.partial(key, partial) : null;
  }

  async begin(key: string, header: PartialHeader): Promise<PartialBlob> {
    const partial = { header, chunks: new Map() };
    this.partials.set(key, partial);
    return this.partial(key, partial);
  }

  async remove(name: string): Promise<void> {
    this.blobs.delete(name);
    this.partials.delete(name);
  }

  async list(): Promise<StoredFile[]> {
    return [...this.blobs].map(([name, bytes]) => ({ name, bytes: bytes.length, complete: true }));
  }

  private partial(key: string, { header, chunks }: Partial): PartialBlob {
    let open = true;
    const check = () => {
      if (!open) throw new Error('The partial blob is closed.');
    };
    const whole = (size: number) => {
      const bytes = new Uint8Array(size);
      for (const [chunk, piece] of chunks) bytes.set(piece, chunk * kChunkBytes);
      return bytes;
    };
    return {
      header,
      has: (chunk) => chunks.has(chunk),
      write: async (chunk, bytes) => {
        check();
        await new Promise((resolve) => setTimeout(resolve)); // a store takes its time
        chunks.set(chunk, bytes.slice());
      },
      read: (offset, out) => {
        check();
        for (let done = 0; done < out.length; ++done) {
          const at = offset + done;
          const piece = chunks.get(Math.floor(at / kChunkBytes))!;
          out[done] = piece[at % kChunkBytes]!;
        }
      },
      commit: async (digest, size) => {
        check();
        open = false;
        this.blobs.set(digest, whole(size));
        this.partials.delete(key);
      },
      close: () => (open = false),
    };
  }
}
