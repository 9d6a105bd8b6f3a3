// Where pieces of texts are kept: in the origin private file system, of all models together.
//   puna/prefixes/<digest of the model>/<piece>    (pieces.ts)
//   puna/prefixes/<digest of the model>/*.tmp      one that is being written; renamed when it is complete
//   puna/prefixes/used.json                        when pieces were used last
// One tab at a time changes it, under a lock; a .tmp that is there without it is what a closed tab has left.
import { PunaError } from '../errors.js';
import { kPrefixLock, withLock } from '../storage/locks.js';
import { entries, existing, openReader, readJson, removeEntry, rename, syncHandle, writeAll, writeJson } from '../storage/opfs_store.js';
import type { BlobReader } from '../storage/blob_store.js';
import { parseName, type Piece } from './pieces.js';

const kFolder = 'prefixes';
const kUsed = 'used.json';
const kTemporary = '.tmp';

export interface PrefixStore {
  list(): Promise<Piece[]>; // of all models
  open(piece: Piece): Promise<BlobReader | null>; // null where it is gone or another tab reads it alone
  // Writes what `fill` gives; resolves with the bytes, or null where the piece is there already. Where `fill` fails nothing is left.
  write(model: string, name: string, fill: (write: (bytes: Uint8Array) => void) => Promise<void>): Promise<number | null>;
  remove(pieces: readonly Piece[]): Promise<void>; // those that are open stay
  touch(pieces: readonly Piece[], now: number): Promise<void>;
}

export class OpfsPrefixStore implements PrefixStore {
  private constructor(private readonly root: FileSystemDirectoryHandle) {}

  static async open(): Promise<OpfsPrefixStore> {
    const store = new OpfsPrefixStore((await prefixRoot(true))!);
    await withLock(kPrefixLock, undefined, () => store.heal());
    return store;
  }

  async list(): Promise<Piece[]> {
    const used = await this.readUsed();
    const pieces: Piece[] = [];
    for await (const [model, folder] of folders(this.root)) {
      for await (const [name, handle] of entries(folder)) {
        const known = parseName(name);
        if (known) pieces.push({ ...known, model, name, bytes: (await handle.getFile()).size, usedAt: used[`${model}/${name}`] ?? 0 });
      }
    }
    return pieces;
  }

  async open({ model, name }: Piece): Promise<BlobReader | null> {
    const folder = await this.root.getDirectoryHandle(model).catch(() => null);
    const file = folder && (await existing(folder, name));
    return file && openReader(file);
  }

  write(model: string, name: string, fill: (write: (bytes: Uint8Array) => void) => Promise<void>): Promise<number | null> {
    return withLock(kPrefixLock, undefined, async () => {
      const folder = await this.root.getDirectoryHandle(model, { create: true });
      if (await existing(folder, name)) return null;
      const file = await folder.getFileHandle(crypto.randomUUID() + kTemporary, { create: true });
      let size = 0;
      try {
        const handle = await syncHandle(file);
        try {
          await fill((bytes) => {
            writeAll(handle, bytes, size);
            size += bytes.length;
          });
          handle.flush();
        } finally {
          handle.close();
        }
        await rename(file, name);
      } catch (error) {
        await removeEntry(folder, file.name).catch(() => undefined);
        throw error;
      }
      return size;
    });
  }

  remove(pieces: readonly Piece[]): Promise<void> {
    return withLock(kPrefixLock, undefined, async () => {
      for (const { model, name } of pieces) {
        const folder = await this.root.getDirectoryHandle(model).catch(() => null);
        if (folder) await removeEntry(folder, name).catch(() => undefined);
      }
    });
  }

  touch(pieces: readonly Piece[], now: number): Promise<void> {
    return withLock(kPrefixLock, undefined, async () => {
      const used = await this.readUsed();
      const known = new Set((await this.list()).map(({ model, name }) => `${model}/${name}`));
      for (const { model, name } of pieces) used[`${model}/${name}`] = now;
      await writeJson(this.root, kUsed, Object.fromEntries(Object.entries(used).filter(([path]) => known.has(path))));
    });
  }

  // Times that cannot be read are as good as none.
  private async readUsed(): Promise<Record<string, number>> {
    const value = await readJson(this.root, kUsed).catch(() => null);
    const times = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(times.filter(([, time]) => typeof time === 'number'));
  }

  private async heal(): Promise<void> {
    for await (const [, folder] of folders(this.root)) {
      for await (const [name] of entries(folder)) {
        if (parseName(name) === null) await removeEntry(folder, name).catch(() => undefined);
      }
    }
  }
}

export interface KeptTexts {
  pieces: number;
  bytes: number;
}

// What is kept of texts; works in a page as well.
export async function keptTexts(): Promise<KeptTexts> {
  const root = await prefixRoot(false);
  const kept: KeptTexts = { pieces: 0, bytes: 0 };
  if (!root) return kept;
  for await (const [, folder] of folders(root)) {
    for await (const [, handle] of entries(folder)) {
      kept.pieces += 1;
      kept.bytes += (await handle.getFile()).size;
    }
  }
  return kept;
}

// Removes what is kept of texts, of one model or of all; resolves with the bytes that were freed. Works in a page as well.
export async function clearTexts(model?: string): Promise<number> {
  const root = await prefixRoot(false);
  if (!root) return 0;
  return withLock(kPrefixLock, undefined, async () => {
    let bytes = 0;
    for await (const [name, folder] of folders(root)) {
      if (model !== undefined && name !== model) continue;
      for await (const [piece, handle] of entries(folder)) {
        const { size } = await handle.getFile();
        await removeBusy(folder, piece);
        bytes += size;
      }
      await removeEntry(root, name);
    }
    if (model === undefined) await removeEntry(root, kUsed);
    return bytes;
  });
}

// A piece is open only while a text is taken up.
async function removeBusy(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
  for (let left = 20; ; --left) {
    try {
      return await removeEntry(folder, name);
    } catch (error) {
      if ((error as DOMException).name !== 'NoModificationAllowedError' || left === 0) {
        throw new PunaError('in_use', 'A kept text is being read in a tab; clear again when its engine is closed.', { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

// Null where nothing was ever kept.
async function prefixRoot(create: boolean): Promise<FileSystemDirectoryHandle | null> {
  try {
    const puna = await (await navigator.storage.getDirectory()).getDirectoryHandle('puna', { create });
    return await puna.getDirectoryHandle(kFolder, { create });
  } catch (error) {
    if (create) throw error;
    return null;
  }
}

async function* folders(root: FileSystemDirectoryHandle): AsyncGenerator<[string, FileSystemDirectoryHandle]> {
  for await (const [name, handle] of root.entries()) {
    if (handle.kind === 'directory') yield [name, handle as FileSystemDirectoryHandle];
  }
}
