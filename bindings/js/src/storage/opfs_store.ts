// Blobs as files of the origin private file system. In a worker, reads and writes go through synchronous access handles.
//   puna/blobs/sha256-<hex>           a complete blob
//   puna/blobs/<key>.part, .journal   a download (journal.ts)
//   puna/models/<key>.json            records
// A blob appears under its digest by a rename, the last step of a download.
import { PunaError } from '../errors.js';
import {
  kChunkBytes,
  type BlobReader,
  type BlobStore,
  type PartialBlob,
  type PartialHeader,
  type RecordStore,
  type StoredFile,
} from './blob_store.js';
import { decodeJournal, encodeJournal } from './journal.js';
import { isLeftover, kRecordLock, kStoreLock, withLock } from './locks.js';

const kPart = '.part';
const kJournal = '.journal';

export class OpfsStore implements BlobStore {
  readonly kind = 'opfs';
  readonly records: RecordStore;

  private constructor(
    private readonly blobs: FileSystemDirectoryHandle,
    models: FileSystemDirectoryHandle,
  ) {
    this.records = new OpfsRecords(models);
  }

  static async open(): Promise<OpfsStore> {
    const root = await navigator.storage.getDirectory();
    const puna = await root.getDirectoryHandle('puna', { create: true });
    const blobs = await puna.getDirectoryHandle('blobs', { create: true });
    const store = new OpfsStore(blobs, await puna.getDirectoryHandle('models', { create: true }));
    await withLock(kStoreLock, undefined, () => store.heal());
    return store;
  }

  async open(digest: string): Promise<BlobReader | null> {
    const file = await existing(this.blobs, digest);
    return file && openReader(file);
  }

  async resume(key: string): Promise<PartialBlob | null> {
    const part = await existing(this.blobs, key + kPart);
    const journal = await existing(this.blobs, key + kJournal);
    if (!part || !journal) return null;
    const decoded = decodeJournal(new Uint8Array(await (await journal.getFile()).arrayBuffer()));
    if (!decoded) return null;
    const { header, mapOffset, chunks } = decoded;
    const [partHandle, journalHandle] = await syncHandles(part, journal);
    return new OpfsPartial(header, chunks, mapOffset, this.blobs, part, partHandle, journalHandle);
  }

  async begin(key: string, header: PartialHeader): Promise<PartialBlob> {
    return withLock(kStoreLock, undefined, async () => {
      const journal = await this.blobs.getFileHandle(key + kJournal, { create: true });
      const part = await this.blobs.getFileHandle(key + kPart, { create: true });
      const [partHandle, journalHandle] = await syncHandles(part, journal);
      partHandle.truncate(0);
      journalHandle.truncate(0);
      const bytes = encodeJournal(header);
      writeAll(journalHandle, bytes, 0);
      journalHandle.flush();
      return new OpfsPartial(header, [], bytes.length, this.blobs, part, partHandle, journalHandle);
    });
  }

  async remove(name: string): Promise<void> {
    for (const file of [name, name + kPart, name + kJournal]) await removeEntry(this.blobs, file);
  }

  async list(): Promise<StoredFile[]> {
    const files: StoredFile[] = [];
    for await (const [name, handle] of entries(this.blobs)) {
      if (name.endsWith(kJournal)) continue;
      const bytes = (await handle.getFile()).size;
      const complete = !name.endsWith(kPart);
      files.push({ name: complete ? name : name.slice(0, -kPart.length), bytes, complete });
    }
    return files;
  }

  // Removes what a cut between two steps of begin() or commit() may leave. Files that another tab has open stay.
  private async heal(): Promise<void> {
    const names = new Set<string>();
    for await (const [name] of entries(this.blobs)) names.add(name);
    for (const name of names) {
      const suffix = [kPart, kJournal].find((end) => name.endsWith(end));
      if (!suffix) continue;
      const key = name.slice(0, -suffix.length);
      if (names.has(key + kPart) && names.has(key + kJournal) && !names.has(key) && !(await isLeftover(key))) continue;
      await removeEntry(this.blobs, name).catch(() => undefined);
    }
  }
}

class OpfsPartial implements PartialBlob {
  constructor(
    readonly header: PartialHeader,
    private readonly chunks: boolean[],
    private readonly mapOffset: number,
    private readonly folder: FileSystemDirectoryHandle,
    private readonly part: FileSystemFileHandle,
    private readonly partHandle: FileSystemSyncAccessHandle,
    private readonly journalHandle: FileSystemSyncAccessHandle,
  ) {}

  has(chunk: number): boolean {
    return this.chunks[chunk] ?? false;
  }

  write(chunk: number, bytes: Uint8Array): void {
    writeAll(this.partHandle, bytes, chunk * kChunkBytes);
    this.partHandle.flush(); // the journal must not speak of bytes that a power cut may still take
    writeAll(this.journalHandle, Uint8Array.of(1), this.mapOffset + chunk);
    this.chunks[chunk] = true;
  }

  read(offset: number, out: Uint8Array): void {
    readAll(this.partHandle, offset, out);
  }

  async commit(digest: string, size: number): Promise<void> {
    const journalName = this.part.name.slice(0, -kPart.length) + kJournal;
    this.partHandle.truncate(size);
    this.partHandle.flush();
    this.close();
    await withLock(kStoreLock, undefined, async () => {
      const there = await existing(this.folder, digest); // the same file came from another address
      if (there) await removeEntry(this.folder, this.part.name);
      else await rename(this.part, digest);
      await removeEntry(this.folder, journalName);
    });
  }

  close(): void {
    this.partHandle.close();
    this.journalHandle.close();
  }
}

class OpfsRecords implements RecordStore {
  constructor(private readonly folder: FileSystemDirectoryHandle) {}

  async get(key: string): Promise<unknown> {
    return readJson(this.folder, `${key}.json`);
  }

  put(key: string, value: unknown): Promise<void> {
    return withLock(kRecordLock, undefined, () => writeJson(this.folder, `${key}.json`, value));
  }

  delete(key: string): Promise<void> {
    return removeEntry(this.folder, `${key}.json`);
  }

  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const [name] of entries(this.folder)) keys.push(name.replace(/\.json$/, ''));
    return keys;
  }
}

// Null where there is no such file, or one that was cut while it was written.
export async function readJson(folder: FileSystemDirectoryHandle, name: string): Promise<unknown> {
  const handle = await existing(folder, name);
  if (!handle) return null;
  try {
    return JSON.parse(await (await handle.getFile()).text());
  } catch {
    return null;
  }
}

// One tab at a time: a file has one handle for writing.
export async function writeJson(folder: FileSystemDirectoryHandle, name: string, value: unknown): Promise<void> {
  const handle = await syncHandle(await folder.getFileHandle(name, { create: true }));
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  try {
    writeAll(handle, bytes, 0);
    handle.truncate(bytes.length);
    handle.flush();
  } finally {
    handle.close();
  }
}

// Reads through a handle that many tabs can have at once; where the browser has only exclusive ones, through slices of the file.
export async function openReader(file: FileSystemFileHandle): Promise<BlobReader> {
  const handle = file.createSyncAccessHandle && (await keeping(file, file.createSyncAccessHandle({ mode: 'read-only' })).catch(() => null));
  if (!handle) return new FileReaderOf(await file.getFile());
  return {
    size: handle.getSize(),
    sync: true,
    read: (offset, out) => readAll(handle, offset, out),
    close: () => handle.close(),
  };
}

// Reads a Blob or File in place.
export class FileReaderOf implements BlobReader {
  readonly sync = false;

  constructor(private readonly blob: Blob) {}

  get size(): number {
    return this.blob.size;
  }

  async read(offset: number, out: Uint8Array): Promise<void> {
    const bytes = await this.blob.slice(offset, offset + out.length).arrayBuffer();
    if (bytes.byteLength !== out.length) throw shortRead(offset, out.length, bytes.byteLength);
    out.set(new Uint8Array(bytes));
  }

  close(): void {}
}

function readAll(handle: FileSystemSyncAccessHandle, offset: number, out: Uint8Array): void {
  const got = handle.read(out as Uint8Array<ArrayBuffer>, { at: offset });
  if (got !== out.length) throw shortRead(offset, out.length, got);
}

function shortRead(offset: number, wanted: number, got: number): PunaError {
  return new PunaError('corrupt', `A stored file ends early: ${got} of ${wanted} bytes were read at offset ${offset}; delete the model and load it again.`);
}

export function writeAll(handle: FileSystemSyncAccessHandle, bytes: Uint8Array, at: number): void {
  const written = handle.write(bytes as Uint8Array<ArrayBuffer>, { at });
  // Chromium 156 gives an error number as a huge count when its storage is full.
  if (written !== bytes.length) throw new PunaError('quota', `The browser refused to store ${bytes.length} bytes: its storage for this site, or the disk, is full.`);
}

// In Chromium 156 what createSyncAccessHandle() promises never comes when the file's handle is collected meanwhile.
const inUse = new Set<FileSystemHandle>();

async function keeping<T>(handle: FileSystemHandle, promise: Promise<T>): Promise<T> {
  inUse.add(handle);
  try {
    return await promise;
  } finally {
    inUse.delete(handle);
  }
}

export async function syncHandle(file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle> {
  if (!file.createSyncAccessHandle) {
    throw new PunaError('unsupported', 'Model files can be written in a dedicated worker only: this context has no synchronous access handles.');
  }
  return keeping(file, file.createSyncAccessHandle());
}

// Both or neither.
async function syncHandles(part: FileSystemFileHandle, journal: FileSystemFileHandle): Promise<[FileSystemSyncAccessHandle, FileSystemSyncAccessHandle]> {
  const partHandle = await syncHandle(part);
  try {
    return [partHandle, await syncHandle(journal)];
  } catch (error) {
    partHandle.close();
    throw error;
  }
}

// The file under another name of its folder, in one step.
export async function rename(file: FileSystemFileHandle, name: string): Promise<void> {
  if (!file.move) throw new PunaError('unsupported', 'This browser cannot rename files of its private file system; pass storage: "cache".');
  await keeping(file, file.move(name));
}

export async function existing(folder: FileSystemDirectoryHandle, name: string): Promise<FileSystemFileHandle | null> {
  try {
    return await folder.getFileHandle(name);
  } catch (error) {
    if ((error as DOMException).name === 'NotFoundError') return null;
    throw error;
  }
}

export async function removeEntry(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
  try {
    await folder.removeEntry(name);
  } catch (error) {
    if ((error as DOMException).name !== 'NotFoundError') throw error;
  }
}

export async function* entries(folder: FileSystemDirectoryHandle): AsyncGenerator<[string, FileSystemFileHandle]> {
  for await (const [name, handle] of folder.entries()) {
    if (handle.kind === 'file') yield [name, handle as FileSystemFileHandle];
  }
}
