// Models of a server: one GGUF file, the parts of a split one, or a folder. Files are downloaded in their order, a few at a time.
import { toPunaError } from '../errors.js';
import type { ModelFiles, ModelPart } from '../engine/model_files.js';
import type { BlobStore } from '../storage/blob_store.js';
import { openHeld } from '../storage/held_blob.js';
import { weightFiles } from './folder.js';
import { modelDigest } from './keys.js';
import { type ModelRecord, type PartRecord, putModelRecord } from './model_records.js';
import { DownloadProgress, type Progress } from './progress.js';
import { type OpenedFile, openRemoteFile, partOf, type RemoteFile, type RemoteOptions } from './remote_file.js';

export interface RemoteModelOptions extends Omit<RemoteOptions, 'progress' | 'onProgress'> {
  onProgress: (progress: Progress) => void;
}

const kFilesAtOnce = 3;

export interface RemoteGguf {
  id: string;
  name: string;
  url: string;
  digest: string | null;
  size: number | null;
}

export function openGguf({ id, name, url, digest, size }: RemoteGguf, options: RemoteModelOptions): Promise<ModelFiles> {
  return new RemoteModel(id, name, options).open(splitParts({ path: fileName(url), url, digest, size }));
}

export async function openFolder(id: string, url: string, name: string, options: RemoteModelOptions): Promise<ModelFiles> {
  const model = new RemoteModel(id, name, options);
  const weights = await weightFiles(url, (path) => model.readText({ path, url: url + path, digest: null, size: null }));
  return model.open(weights);
}

// The model as it is stored, without asking any server; null when a file of it is missing.
export async function openRecord(record: ModelRecord, { store, onProgress }: RemoteModelOptions): Promise<ModelFiles | null> {
  const opened: { part: ModelPart; close(): void }[] = [];
  for (const { path, digest } of record.parts) {
    const reader = digest === null ? null : await openHeld(store, digest);
    if (!reader) {
      opened.forEach((file) => file.close());
      return null;
    }
    opened.push({ part: partOf(path, reader), close: () => reader.close() });
  }
  const bytes = opened.reduce((sum, { part }) => sum + part.size, 0);
  onProgress({ stage: 'download', source: 'storage', doneBytes: bytes, totalBytes: bytes, bytesPerSecond: null });
  return {
    name: record.name,
    parts: opened.map(({ part }) => part),
    verified: modelDigest(record.parts.map(({ path, digest }) => ({ path, digest: digest! }))),
    close: () => opened.forEach((file) => file.close()),
  };
}

class RemoteModel {
  private readonly files: RemoteFile[] = [];
  private readonly opened: Promise<OpenedFile>[] = [];
  private readonly waiting: (() => void)[] = []; // files that may be opened when another is done
  private running = 0;
  private readonly abort = new AbortController();
  private readonly options: RemoteOptions;
  private readonly store: BlobStore;

  constructor(
    private readonly id: string,
    private readonly name: string,
    options: RemoteModelOptions,
  ) {
    const { signal, onProgress, ...rest } = options;
    if (signal.aborted) this.abort.abort();
    signal.addEventListener('abort', () => this.abort.abort(), { signal: this.abort.signal });
    this.store = options.store;
    this.options = { ...rest, signal: this.abort.signal, progress: new DownloadProgress(onProgress) };
  }

  // The text of a small file, which becomes a part of the model; null where the server has none.
  async readText(file: RemoteFile): Promise<string | null> {
    try {
      const { part } = await openRemoteFile(file, this.options).then((opened) => this.add(file, Promise.resolve(opened)));
      const bytes = new Uint8Array(part.size);
      await part.read(0, bytes);
      return new TextDecoder().decode(bytes);
    } catch (error) {
      const failure = toPunaError(error);
      if (failure.code === 'not_found') return null;
      throw failure;
    }
  }

  // Adds the large files and resolves once the size of each is known.
  async open(files: readonly RemoteFile[]): Promise<ModelFiles> {
    try {
      const options = files.length > 1 ? { ...this.options, connections: 1 } : this.options;
      for (const file of files) this.options.progress.update(file.path, { total: file.size });
      const pending = files.map((file) => this.add(file, this.inTurn(file, options)));
      const sized = files.map((file, i) => (file.size === null || files.length === 1 ? pending[i]! : null));
      await Promise.all(sized);
      await this.record(false).catch(() => undefined); // full storage is told of by the download
      const parts = await Promise.all(this.opened.map((file, i) => this.partOf(file, this.files[i]!)));
      const verified = this.verify();
      verified.catch(() => undefined); // for callers that stop before they look
      return { name: this.name, parts, verified, close: () => this.close() };
    } catch (error) {
      this.close();
      throw toPunaError(error);
    }
  }

  private add(file: RemoteFile, opened: Promise<OpenedFile>): Promise<OpenedFile> {
    this.files.push(file);
    this.opened.push(opened);
    opened.catch(() => this.abort.abort()); // one file missing is the model missing
    return opened;
  }

  // Opens the file when fewer than kFilesAtOnce are being downloaded.
  private async inTurn(file: RemoteFile, options: RemoteOptions): Promise<OpenedFile> {
    if (this.running === kFilesAtOnce) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else ++this.running;
    const next = () => {
      const wake = this.waiting.shift();
      if (wake) wake();
      else --this.running;
    };
    try {
      const opened = await openRemoteFile(file, options);
      opened.digest.then(next, next);
      return opened;
    } catch (error) {
      next();
      throw error;
    }
  }

  // A file whose size is known beforehand is a part before its download begins.
  private async partOf(file: Promise<OpenedFile>, { path, size }: RemoteFile): Promise<ModelPart> {
    if (size === null || this.files.length === 1) return (await file).part;
    let part: ModelPart | null = null;
    const opened = file.then((each) => (part = each.part));
    opened.catch(() => undefined);
    return { path, size, read: (offset, out) => (part ? part.read(offset, out) : opened.then((each) => each.read(offset, out))) };
  }

  private async verify(): Promise<string> {
    try {
      const digests = await Promise.all(this.opened.map(async (file) => (await file).digest));
      await this.record(true, digests);
      return await modelDigest(this.files.map(({ path }, i) => ({ path, digest: digests[i]! })));
    } catch (error) {
      this.abort.abort();
      throw toPunaError(error);
    }
  }

  private async record(complete: boolean, digests: readonly string[] = []): Promise<void> {
    const parts: PartRecord[] = await Promise.all(
      this.files.map(async ({ path, url, digest, size }, i) => ({
        path,
        url,
        digest: digests[i] ?? digest,
        size: complete ? (await this.opened[i]!).part.size : size,
      })),
    );
    await putModelRecord(this.store, { id: this.id, name: this.name, parts, complete, storedAt: new Date().toISOString() });
  }

  private close(): void {
    this.abort.abort();
    for (const file of this.opened) file.then((each) => each.close()).catch(() => undefined);
  }
}

// "model-00001-of-00003.gguf" stands for all its parts.
function splitParts(file: RemoteFile): RemoteFile[] {
  const match = /-(\d{5})-of-(\d{5})\.gguf$/i.exec(file.path);
  const count = Number(match?.[2] ?? 1);
  if (!match || count < 2) return [file];
  return Array.from({ length: count }, (_, i) => {
    const number = (text: string) => text.replace(/-\d{5}(-of-\d{5}\.gguf)/i, `-${String(i + 1).padStart(5, '0')}$1`);
    return { path: number(file.path), url: number(file.url), digest: null, size: null };
  });
}

function fileName(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1)!;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
