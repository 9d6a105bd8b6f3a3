// A file that is being downloaded into the store, readable while it comes. Ranges come over several connections; each chunk is
// stored when it is whole; SHA-256 follows in the order of the file. Read next: fetch_range.ts, ../storage/blob_store.ts.
import { PunaError, throwIfAborted, toPunaError } from '../errors.js';
import { type BlobReader, type BlobStore, chunkCount, chunkLength, kChunkBytes, type PartialBlob } from '../storage/blob_store.js';
import { openHeld } from '../storage/held_blob.js';
import { checkQuota, storageIsFull } from '../storage/quota.js';
import { ChunkWriter } from './chunk_writer.js';
import { Event } from './event.js';
import { fetchRange, NoRanges, type RangeAnswer, RangeGone, rangesCanBeJoined } from './fetch_range.js';
import { type FileFacts, sameFile } from './headers.js';
import { Backoff, kRetryDefaults, PassingFailure, type RetryOptions } from './retry.js';
import { newSha256 } from './sha256.js';

export interface DownloadRequest {
  url: string;
  key: string; // of the download in the store
  digest: string | null; // sha256-..., where it is known
  size: number | null; // where it is known
}

export interface DownloadOptions {
  signal: AbortSignal;
  connections?: number;
  runChunks?: number; // asked for in one request
  retry?: Partial<RetryOptions>;
  onProgress?: (doneBytes: number, totalBytes: number | null) => void;
}

const kConnections = 3;
const kRunChunks = 8;
const kStallMs = 60_000; // without a byte, after which a connection is given up
const kMaxChanges = 3; // of the file while it is downloaded

interface Run {
  first: number;
  last: number; // inclusive
}

export class Download {
  private partial: PartialBlob | null = null;
  private reader: BlobReader | null = null; // once it is a blob
  private known: FileFacts | null = null;
  private ranges = true; // false: the server gives whole files only
  private changes = 0;
  private readonly taken = new Set<number>(); // chunks that some connection has asked for
  private readonly writers = new Set<ChunkWriter>();
  private fresh: { chunk: number; bytes: Uint8Array<ArrayBuffer> } | null = null; // the last one, before it is hashed
  private storedBytes = 0;
  private wasRead = false;
  private answered = false; // the server has
  private failure: PunaError | null = null;
  private readonly changed = new Event();
  private generation = new Generation();
  private readonly backoff: Backoff;

  // The caller holds the lock of the request's key until run() has settled.
  constructor(
    private readonly store: BlobStore,
    private readonly request: DownloadRequest,
    private readonly options: DownloadOptions,
  ) {
    this.backoff = new Backoff(request.url, { ...kRetryDefaults, ...options.retry });
  }

  get size(): number | null {
    return this.reader?.size ?? this.known?.size ?? null;
  }

  // Resolves with the digest once the file is a blob of the store.
  async run(): Promise<string> {
    const { signal } = this.options;
    const stop = () => this.stop(new PunaError('aborted', 'The download was stopped; what has arrived is kept.'));
    signal.addEventListener('abort', stop);
    try {
      throwIfAborted(signal);
      await this.resume();
      const digest = await this.fetchAndHash();
      throwIfAborted(signal);
      await this.commit(digest);
      return digest;
    } catch (error) {
      this.failure = await this.explain(toPunaError(error, `downloading ${this.request.url}`));
      this.closePartial();
      if (this.failure.code === 'changed') await this.store.remove(this.request.key).catch(() => undefined);
      throw this.failure;
    } finally {
      signal.removeEventListener('abort', stop);
      this.changed.notify();
    }
  }

  private async explain(failure: PunaError): Promise<PunaError> {
    if (failure.code !== 'quota') return failure;
    return storageIsFull(this.size === null ? null : this.size - this.storedBytes, this.request.url);
  }

  // Resolves when the size is known and read() may be called; rejects when the download fails before. A file that cannot be told
  // from another one after a cut is not shown before it is there as a whole.
  async opened(): Promise<void> {
    const early = () => this.known !== null && this.known.size !== null && rangesCanBeJoined(this.known, this.request.digest !== null);
    while (!this.reader && !early()) {
      if (this.failure) throw this.failure;
      await this.changed.wait();
    }
  }

  read(offset: number, out: Uint8Array): void | Promise<void> {
    this.wasRead = true;
    if (this.reader) return this.reader.read(offset, out);
    if (this.has(offset, out.length)) return this.partial!.read(offset, out);
    return this.readLater(offset, out);
  }

  close(): void {
    this.reader?.close();
  }

  private async readLater(offset: number, out: Uint8Array): Promise<void> {
    for (;;) {
      if (this.failure) throw this.failure;
      if (this.reader) return this.reader.read(offset, out);
      if (this.has(offset, out.length)) return this.partial!.read(offset, out);
      await this.changed.wait();
    }
  }

  private has(offset: number, length: number): boolean {
    if (!this.partial) return false;
    const last = Math.floor((offset + length - 1) / kChunkBytes);
    for (let chunk = Math.floor(offset / kChunkBytes); chunk <= last; ++chunk) if (!this.partial.has(chunk)) return false;
    return true;
  }

  private async resume(): Promise<void> {
    const partial = await this.store.resume(this.request.key);
    if (!partial) return;
    const { header } = partial;
    const size = header.size ?? this.request.size;
    // Validators are those of one address; the same file from another one is known by its digest.
    const facts: FileFacts = header.url === this.request.url ? { ...header, size } : { size, etag: null, lastModified: null };
    if (size === null || !rangesCanBeJoined(facts, this.request.digest !== null)) return partial.close();
    this.partial = partial;
    this.known = facts;
    this.countStored();
    this.changed.notify();
  }

  private async fetchAndHash(): Promise<string> {
    for (;;) {
      try {
        const [digest] = await Promise.all([this.hash(this.generation), this.fetchAll(this.generation)]);
        return digest;
      } catch (error) {
        const reason = this.stop(error);
        await Promise.allSettled(this.generation.connections);
        if (!(reason instanceof Restart)) throw reason;
        throwIfAborted(this.options.signal);
        this.generation = new Generation();
        this.taken.clear();
      }
    }
  }

  // Ends all connections and the hash; the first reason counts.
  private stop(reason: unknown): unknown {
    const first = this.generation.stop(reason);
    this.changed.notify();
    return first;
  }

  // One connection until the first answer says what the server can do, then more beside it.
  private async fetchAll(generation: Generation): Promise<void> {
    const { connections } = generation;
    const add = (onAnswer: () => void) => {
      const connection = this.connection(generation, onAnswer);
      connection.catch(() => undefined); // the first reason of the generation is the one that counts
      connections.push(connection);
    };
    add(() => {
      const wanted = this.ranges ? (this.options.connections ?? kConnections) : 1;
      while (connections.length < wanted) add(() => undefined);
    });
    await connections[0];
    await Promise.all(connections);
  }

  private async connection(generation: Generation, onAnswer: () => void): Promise<void> {
    ++generation.active;
    try {
      for (let run = this.take(); run; run = this.take()) {
        const failure = await this.tryRun(run, generation, onAnswer);
        if (failure?.busy && generation.active > 1) return; // the others go on
        if (failure) await this.backoff.wait(failure, generation.signal, this.answered);
      }
    } catch (error) {
      throw this.stop(error);
    } finally {
      --generation.active;
    }
  }

  private async tryRun(run: Run, generation: Generation, onAnswer: () => void): Promise<PassingFailure | null> {
    try {
      await this.fetchRun(run, generation, onAnswer);
      return null;
    } catch (error) {
      if (error instanceof PassingFailure) return error;
      if (error instanceof NoRanges || (error instanceof RangeGone && !this.partial)) {
        this.ranges = false;
        throw new Restart();
      }
      throw error instanceof RangeGone ? this.becameAnother() : error;
    } finally {
      if (!generation.signal.aborted) for (let chunk = run.first; chunk <= run.last; ++chunk) this.taken.delete(chunk);
    }
  }

  // The next chunks to ask for, null when all are there or asked for.
  private take(): Run | null {
    const size = this.known?.size ?? null;
    const runChunks = this.options.runChunks ?? kRunChunks;
    if (size === null || !this.ranges) {
      if (this.taken.size > 0 || (size !== null && this.has(0, size))) return null;
      return this.claim({ first: 0, last: runChunks - 1 });
    }
    const free = (chunk: number) => chunk < chunkCount(size) && !this.partial?.has(chunk) && !this.taken.has(chunk);
    let first = 0;
    while (first < chunkCount(size) && !free(first)) ++first;
    if (!free(first)) return null;
    let last = first;
    while (last + 1 < first + runChunks && free(last + 1)) ++last;
    return this.claim({ first, last });
  }

  private claim(run: Run): Run {
    for (let chunk = run.first; chunk <= run.last; ++chunk) this.taken.add(chunk);
    return run;
  }

  private async fetchRun(run: Run, generation: Generation, onAnswer: () => void): Promise<void> {
    const start = this.ranges ? run.first * kChunkBytes : 0;
    const end = this.ranges ? Math.min((run.last + 1) * kChunkBytes, this.known?.size ?? Infinity) - 1 : null;
    const answer = await fetchRange({ url: this.request.url, start, end, known: this.known }, generation.signal);
    this.answered = true;
    try {
      if (this.ranges && !(answer.ranges && rangesCanBeJoined(answer.facts, this.request.digest !== null))) {
        this.ranges = false;
        if (answer.ranges || generation.active > 1) throw new Restart();
      }
      await this.accept(answer.facts, generation);
      throwIfAborted(generation.signal);
      onAnswer();
      await this.receive(answer, generation.signal);
    } catch (error) {
      await answer.body.cancel().catch(() => undefined);
      throw error;
    }
  }

  // Begins the stored file, or makes sure that this answer is of the same one.
  private async accept(facts: FileFacts, generation: Generation): Promise<void> {
    const { size, digest, url, key } = this.request;
    if (facts.size === 0) throw new PunaError('corrupt', `The file at ${url} is empty.`);
    if (size !== null && facts.size !== null && facts.size !== size) {
      throw new PunaError('corrupt', `The file at ${url} has ${facts.size} bytes, but ${size} are expected; it is another file.`);
    }
    if (this.known && !sameFile(this.known, facts, digest !== null)) throw this.becameAnother();
    this.known = { size: facts.size ?? this.known?.size ?? null, etag: facts.etag, lastModified: facts.lastModified };
    if (!this.partial) {
      await checkQuota(facts.size ?? 0, url);
      this.partial = await this.store.begin(key, { url, digest, ...facts });
    } else if (generation.active === 1) {
      await checkQuota((this.known.size ?? 0) - this.storedBytes, url);
    }
    this.countStored();
    this.changed.notify();
  }

  // The chunks that are stored are of another file. If nobody has read them, start anew; else the load fails and may be tried again.
  private becameAnother(): unknown {
    const failure = new PunaError('changed', `The file at ${this.request.url} became another one while it was downloaded; load it again.`);
    const reason = this.stop(this.wasRead || ++this.changes >= kMaxChanges ? failure : new Restart());
    this.closePartial();
    this.known = null;
    return reason;
  }

  private closePartial(): void {
    this.partial?.close();
    this.partial = null;
  }

  private async receive(answer: RangeAnswer, signal: AbortSignal): Promise<void> {
    const size = this.known!.size;
    const end = answer.end ?? Infinity;
    const writer = new ChunkWriter(answer.start / kChunkBytes, size, (chunk, bytes) => this.keep(chunk, bytes, signal));
    const reader = answer.body.getReader();
    this.writers.add(writer);
    try {
      for (let bytes = await nextBytes(reader, signal); bytes; bytes = await nextBytes(reader, signal)) {
        if (writer.position + bytes.length > end) throw new PassingFailure(`more than the ${end - answer.start} announced bytes came`);
        await writer.push(bytes);
        this.backoff.succeeded();
        this.report();
      }
      if (answer.end !== null && writer.position < end) {
        throw new PassingFailure(`the connection ended after ${writer.position - answer.start} of ${end - answer.start} bytes`);
      }
      if (size !== null) return;
      this.known = { ...this.known!, size: writer.position };
      await writer.finish();
      this.changed.notify();
    } finally {
      this.writers.delete(writer);
      reader.releaseLock();
    }
  }

  private async keep(chunk: number, bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    if (this.partial!.has(chunk)) return; // the server gives whole files only, and this part was there
    await this.partial!.write(chunk, bytes);
    this.storedBytes += bytes.length;
    this.fresh = { chunk, bytes };
    this.changed.notify();
  }

  private countStored(): void {
    const size = this.known?.size ?? null;
    this.storedBytes = 0;
    for (let chunk = 0; size === null ? this.partial!.has(chunk) : chunk < chunkCount(size); ++chunk) {
      if (this.partial!.has(chunk)) this.storedBytes += size === null ? kChunkBytes : chunkLength(chunk, size);
    }
    this.report();
  }

  private report(): void {
    let bytes = this.storedBytes;
    for (const writer of this.writers) bytes += writer.pending;
    this.options.onProgress?.(this.size === null ? bytes : Math.min(bytes, this.size), this.size);
  }

  // The digest of the file, chunk by chunk as they come.
  private async hash(generation: Generation): Promise<string> {
    let bytes = await this.chunkBytes(0, generation.signal);
    const sha = await newSha256(this.size);
    try {
      for (let chunk = 1; bytes; ++chunk) {
        await sha.update(bytes);
        bytes = await this.chunkBytes(chunk, generation.signal);
      }
      return await sha.digest();
    } finally {
      sha.close();
    }
  }

  // Null behind the end of the file. The bytes are the caller's.
  private async chunkBytes(chunk: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer> | null> {
    for (;;) {
      throwIfAborted(signal);
      if (this.partial?.has(chunk)) break;
      if (this.size !== null && chunk >= chunkCount(this.size)) return null;
      await this.changed.wait();
    }
    if (this.fresh?.chunk === chunk) {
      const { bytes } = this.fresh;
      this.fresh = null;
      return bytes;
    }
    const bytes = new Uint8Array(this.size === null ? kChunkBytes : chunkLength(chunk, this.size));
    await this.partial.read(chunk * kChunkBytes, bytes);
    return bytes;
  }

  private async commit(digest: string): Promise<void> {
    const partial = this.partial!;
    if (this.request.digest !== null && digest !== this.request.digest) {
      this.closePartial();
      await this.store.remove(this.request.key);
      throw new PunaError(
        'corrupt',
        `The file at ${this.request.url} has the SHA-256 ${digest.slice(7)}, but ${this.request.digest.slice(7)} is expected; ` +
          'it was removed. Load it again, or from another address.',
      );
    }
    this.partial = null; // reads wait until it is a blob
    await partial.commit(digest, this.known!.size!);
    this.reader = await openHeld(this.store, digest);
  }
}

// Connections that agree on the state of the file; they end together.
class Generation {
  readonly connections: Promise<void>[] = [];
  active = 0; // of the connections
  private readonly controller = new AbortController();
  private reason: unknown = null;

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  // The reason given first.
  stop(reason: unknown): unknown {
    this.reason ??= reason;
    this.controller.abort();
    return this.reason;
  }
}

// Connections end and begin anew, knowing better.
class Restart extends Error {}

// The next piece of a body, null at its end. Cuts and silence are failures that may pass.
async function nextBytes(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal): Promise<Uint8Array | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PassingFailure(`no byte came for ${kStallMs / 1000} seconds`)), kStallMs);
  });
  try {
    const { done, value } = await Promise.race([reader.read(), silence]);
    return done ? null : value;
  } catch (error) {
    if (signal.aborted || error instanceof PassingFailure) throw error;
    throw new PassingFailure(`the connection was cut: ${(error as Error).message}`);
  } finally {
    clearTimeout(timer);
  }
}
