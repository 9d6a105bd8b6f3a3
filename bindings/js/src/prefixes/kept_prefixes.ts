// The prefix cache that outlives the page: before a text is written, what is kept of its beginning is taken up; when the engine has
// nothing else to do, what it holds of texts is saved. Nothing of it makes a request fail: what cannot be had is computed.
import type { BlobReader } from '../storage/blob_store.js';
import { longestChain, type Piece, pieceHash, pieceName, tooMany } from './pieces.js';
import type { PrefixStore } from './prefix_store.js';

export interface HeldText {
  tokens: number[];
  ends: number[]; // where pieces may end, rising
}

export interface Restored {
  n_cached: number;
  n_pieces: number; // that were taken up
  error?: { code: string; message: string }; // of the one after them
}

// What it needs of the engine; operations of exports.cpp.
export interface PrefixEngine {
  identity(model: string): Promise<Identity>;
  prompt(kind: 'chat' | 'complete', request: object): Promise<{ tokens: number[]; n_cached: number }>;
  texts(): Promise<HeldText[]>;
  save(piece: { tokens: readonly number[]; first: number; model: string }, write: (bytes: Uint8Array) => void, signal: AbortSignal): Promise<void>;
  restore(tokens: number[], model: string, pieces: readonly BlobReader[]): Promise<Restored>;
}

export interface Identity {
  page_tokens: number;
  page_bytes: number;
  state_bytes: number[];
}

export class KeptPrefixes {
  private index: Piece[] = []; // of this model
  private readonly recurrent: boolean; // its pieces begin at the start of a text

  private constructor(
    private readonly engine: PrefixEngine,
    private readonly store: PrefixStore,
    private readonly model: string,
    private readonly mostBytes: number,
    private readonly identity: Identity,
  ) {
    this.recurrent = identity.state_bytes.length > 0;
  }

  // `model`: the digest of its files.
  static async open(engine: PrefixEngine, store: PrefixStore, model: string, mostBytes: number): Promise<KeptPrefixes> {
    const kept = new KeptPrefixes(engine, store, model, mostBytes, await engine.identity(model));
    await kept.look();
    return kept;
  }

  // Before the request is handed to the engine.
  async takeUp(kind: 'chat' | 'complete', request: object): Promise<void> {
    if (this.index.length === 0) return;
    const readers: BlobReader[] = [];
    try {
      const { tokens, n_cached } = await this.engine.prompt(kind, request);
      // The last token is computed at any rate: what comes after it is chosen.
      const chain = await this.chainOf(tokens, tokens.length - 1);
      const wanted = chain.filter(({ end }) => end > n_cached);
      for (const piece of wanted) {
        const reader = await this.store.open(piece);
        if (!reader) break;
        readers.push(reader);
      }
      if (readers.length === 0) return wanted.length > 0 ? await this.look() : undefined;
      const { n_pieces, error } = await this.engine.restore(tokens, this.model, readers);
      readers.splice(0).forEach((reader) => reader.close());
      if (error) await this.drop(wanted[n_pieces]!, error.message);
      if (n_pieces > 0) await this.store.touch(chain.slice(0, chain.length - wanted.length + n_pieces), Date.now());
    } catch (error) {
      console.debug(`puna: no kept text was taken up: ${String(error)}`);
    } finally {
      readers.forEach((reader) => reader.close());
    }
  }

  // While the engine has nothing else to do; stops between pages when the signal is raised, and goes on at the next call.
  async saveTexts(signal: AbortSignal): Promise<void> {
    try {
      for (const text of await this.engine.texts()) await this.saveText(text, signal);
    } catch (error) {
      if (!signal.aborted) console.debug(`puna: a text was not kept: ${String(error)}`);
    } finally {
      await this.look().catch(() => undefined);
    }
  }

  private async saveText({ tokens, ends }: HeldText, signal: AbortSignal): Promise<void> {
    const chain = await this.chainOf(tokens, ends.at(-1) ?? 0);
    const known = chain.at(-1)?.end ?? 0;
    const missing = ends.filter((end) => end > known);
    if (missing.length === 0) return;
    let first = this.recurrent ? 0 : known;
    let bytes = this.recurrent ? 0 : chain.reduce((sum, piece) => sum + piece.bytes, 0);
    for (const end of missing) {
      bytes += this.bytesOf(first, end);
      if (signal.aborted || bytes > this.mostBytes) break; // one text alone may fill what there is
      const piece = tokens.slice(0, end);
      const hash = await pieceHash(this.hashed, piece);
      const name = pieceName(first, end, hash);
      const part = { tokens: piece, first, model: this.model };
      const size = await this.store.write(this.model, name, (write) => this.engine.save(part, write, signal));
      chain.push({ model: this.model, name, first, end, hash, bytes: size ?? 0, usedAt: 0 });
      first = end;
    }
    await this.store.touch(chain, Date.now());
    const victims = tooMany(await this.store.list(), this.mostBytes);
    if (victims.length > 0) await this.store.remove(victims);
  }

  private bytesOf(first: number, end: number): number {
    const { page_tokens, page_bytes, state_bytes } = this.identity;
    const pages = Math.ceil(end / page_tokens) - Math.floor(first / page_tokens);
    return pages * page_bytes + state_bytes.reduce((sum, bytes) => sum + bytes, 0) + 4 * end;
  }

  private get hashed(): string {
    return JSON.stringify(this.identity);
  }

  private chainOf(tokens: readonly number[], limit: number): Promise<Piece[]> {
    return longestChain(this.index, this.hashed, tokens, limit);
  }

  // What other tabs have kept or removed is seen here.
  private async look(): Promise<void> {
    this.index = (await this.store.list()).filter(({ model }) => model === this.model);
  }

  // A damaged piece is in the way of a whole one.
  private async drop(piece: Piece, why: string): Promise<void> {
    console.warn(`puna: a kept text is computed anew: ${why}`);
    await this.store.remove([piece]);
    await this.look();
  }
}
