// Models of this machine: files that were dropped or picked, read in place, or copied into the store.
import { newSha256 } from '../download/sha256.js';
import { PunaError, throwIfAborted, toPunaError } from '../errors.js';
import type { ModelFiles } from '../engine/model_files.js';
import { type BlobStore, chunkCount, chunkLength, kChunkBytes } from '../storage/blob_store.js';
import { copyKey, downloadLock, withLock } from '../storage/locks.js';
import { FileReaderOf } from '../storage/opfs_store.js';
import { checkQuota } from '../storage/quota.js';
import { type PartRecord, putModelRecord } from './model_records.js';
import { openRecord, type RemoteModelOptions } from './remote_model.js';
import { partOf } from './remote_file.js';
import type { LocalFile } from './source.js';

export function localModel(name: string, files: readonly LocalFile[]): ModelFiles {
  for (const { path, file } of files) if (file.size === 0) throw new PunaError('corrupt', `The file ${path} is empty.`);
  return {
    name,
    parts: files.map(({ path, file }) => partOf(path, new FileReaderOf(file))),
    verified: Promise.resolve(null),
    close: () => undefined,
  };
}

// Copies the files into the store, from where they can be loaded by name later, and opens them there.
export async function keepFiles(name: string, files: readonly LocalFile[], options: RemoteModelOptions): Promise<ModelFiles> {
  const { store, signal, onProgress } = options;
  const totalBytes = files.reduce((sum, { file }) => sum + file.size, 0);
  await checkQuota(totalBytes, name);
  let doneBytes = 0;
  const parts: PartRecord[] = [];
  for (const { path, file } of files) {
    const digest = await keepFile(store, file, signal, (bytes) => {
      doneBytes += bytes;
      onProgress({ stage: 'download', source: 'file', doneBytes, totalBytes, bytesPerSecond: null });
    });
    parts.push({ path, url: null, digest, size: file.size });
  }
  const record = { id: `kept:${name}`, name, parts, complete: true, storedAt: new Date().toISOString() };
  await putModelRecord(store, record);
  const model = await openRecord(record, options);
  if (!model) throw new PunaError('storage', `${name} was deleted while it was stored; load it again.`);
  return model;
}

function keepFile(store: BlobStore, file: Blob, signal: AbortSignal, onBytes: (bytes: number) => void): Promise<string> {
  const key = copyKey();
  return withLock(downloadLock(key), signal, () => copyFile(store, key, file, signal, onBytes));
}

async function copyFile(store: BlobStore, key: string, file: Blob, signal: AbortSignal, onBytes: (bytes: number) => void): Promise<string> {
  const partial = await store.begin(key, { url: '', size: file.size, digest: null, etag: null, lastModified: null });
  const sha = await newSha256(file.size);
  try {
    for (let chunk = 0; chunk < chunkCount(file.size); ++chunk) {
      throwIfAborted(signal);
      const start = chunk * kChunkBytes;
      const bytes = new Uint8Array(await file.slice(start, start + chunkLength(chunk, file.size)).arrayBuffer());
      await partial.write(chunk, bytes);
      onBytes(bytes.length);
      await sha.update(bytes);
    }
    const digest = await sha.digest();
    await partial.commit(digest, file.size);
    return digest;
  } catch (error) {
    partial.close();
    await store.remove(key).catch(() => undefined);
    throw toPunaError(error);
  } finally {
    sha.close();
  }
}
