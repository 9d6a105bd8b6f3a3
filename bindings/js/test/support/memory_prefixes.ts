// A store of pieces in memory, and an engine whose cache is a list of tokens: a piece of it is the text as JSON.
import type { HeldText, Identity, PrefixEngine, Restored } from '../../src/prefixes/kept_prefixes.js';
import { parseName, type Piece } from '../../src/prefixes/pieces.js';
import type { PrefixStore } from '../../src/prefixes/prefix_store.js';
import type { BlobReader } from '../../src/storage/blob_store.js';

export class MemoryPrefixes implements PrefixStore {
  readonly files = new Map<string, { bytes: Uint8Array; usedAt: number }>();
  full = Infinity; // bytes after which writes fail

  async list(): Promise<Piece[]> {
    return [...this.files].map(([path, { bytes, usedAt }]) => {
      const [model, name] = path.split('/') as [string, string];
      return { ...parseName(name)!, model, name, bytes: bytes.length, usedAt };
    });
  }

  async open({ model, name }: Piece): Promise<BlobReader | null> {
    const bytes = this.files.get(`${model}/${name}`)?.bytes;
    return bytes ? { size: bytes.length, sync: true, read: (offset, out) => out.set(bytes.subarray(offset, offset + out.length)), close: () => undefined } : null;
  }

  async write(model: string, name: string, fill: (write: (bytes: Uint8Array) => void) => Promise<void>): Promise<number | null> {
    if (this.files.has(`${model}/${name}`)) return null;
    let all = new Uint8Array();
    const stored = [...this.files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    await fill((bytes) => {
      if (stored + all.length + bytes.length > this.full) throw new Error('full');
      all = Uint8Array.from([...all, ...bytes]);
    });
    this.files.set(`${model}/${name}`, { bytes: all, usedAt: 0 });
    return all.length;
  }

  async remove(pieces: readonly Piece[]): Promise<void> {
    for (const { model, name } of pieces) this.files.delete(`${model}/${name}`);
  }

  async touch(pieces: readonly Piece[], now: number): Promise<void> {
    for (const { model, name } of pieces) {
      const file = this.files.get(`${model}/${name}`);
      if (file) file.usedAt = now;
    }
  }
}

export class ListEngine implements PrefixEngine {
  cache: number[] = [];
  saved = 0; // pieces, ever

  constructor(
    private readonly known: Identity,
    private readonly pieceTokens = 4,
  ) {}

  async identity(): Promise<Identity> {
    return this.known;
  }

  async prompt(_: 'chat' | 'complete', request: object) {
    const { tokens } = request as { tokens: number[] };
    const different = tokens.findIndex((token, i) => token !== this.cache[i]);
    return { tokens, n_cached: different < 0 ? tokens.length - 1 : different };
  }

  async texts(): Promise<HeldText[]> {
    const n = this.cache.length;
    const ends = Array.from({ length: Math.floor(n / this.pieceTokens) }, (_, i) => (i + 1) * this.pieceTokens);
    const recurrent = this.known.state_bytes.length > 0;
    return [{ tokens: this.cache, ends: recurrent ? ends.slice(-1) : ends }];
  }

  async save({ tokens, first }: { tokens: readonly number[]; first: number }, write: (bytes: Uint8Array) => void): Promise<void> {
    write(new TextEncoder().encode(JSON.stringify(tokens.slice(first))));
    ++this.saved;
  }

  async restore(tokens: number[], _: string, readers: readonly BlobReader[]): Promise<Restored> {
    for (const [i, reader] of readers.entries()) {
      const bytes = new Uint8Array(reader.size);
      await reader.read(0, bytes);
      try {
        const piece = JSON.parse(new TextDecoder().decode(bytes)) as number[];
        this.cache = tokens.slice(0, (this.known.state_bytes.length > 0 ? 0 : Math.floor(this.cache.length / this.pieceTokens) * this.pieceTokens) + piece.length);
      } catch {
        return { n_cached: this.cache.length, n_pieces: i, error: { code: 'corrupt', message: 'damaged' } };
      }
    }
    return { n_cached: this.cache.length, n_pieces: readers.length };
  }
}
