// A source as the files that the engine reads. Read next: remote_model.ts, local_model.ts.
import type { ModelFiles } from '../engine/model_files.js';
import type { BlobStore } from '../storage/blob_store.js';
import { findInCatalogue, looksLikeName, unknownName } from './catalogue.js';
import { keepFiles, localModel } from './local_model.js';
import { allModelRecords, findStored, getModelRecord } from './model_records.js';
import type { Progress } from './progress.js';
import { openFolder, openGguf, openRecord, type RemoteModelOptions } from './remote_model.js';
import { noSource, type SourceSpec } from './source.js';

export interface OpenOptions extends Omit<RemoteModelOptions, 'store' | 'progress'> {
  openStore: () => Promise<BlobStore>; // called only where files are stored
  onProgress: (progress: Progress) => void;
  keep?: boolean; // store local files too
}

// Resolves as soon as the engine can begin to read.
export async function openModel(spec: SourceSpec, options: OpenOptions): Promise<ModelFiles> {
  if (spec.kind === 'files' && !options.keep) return localModel(spec.name, spec.files);
  const store = await options.openStore();
  const remote = { ...options, store };
  if (spec.kind === 'files') return keepFiles(spec.name, spec.files, remote);
  if (spec.kind === 'name') return openName(spec.name, remote);
  const record = await getModelRecord(store, spec.id);
  const stored = record?.complete ? await openRecord(record, remote) : null;
  if (stored) return stored;
  if (spec.kind === 'folder') return openFolder(spec.id, spec.url, spec.name, remote);
  return openGguf({ id: spec.id, name: spec.name, url: spec.url, digest: spec.digest, size: spec.size }, remote);
}

async function openName(name: string, options: RemoteModelOptions): Promise<ModelFiles> {
  const entry = findInCatalogue(name);
  if (entry) {
    const digest = `sha256-${entry.sha256}`;
    return openGguf({ id: digest, name: entry.name, url: entry.url, digest, size: entry.bytes }, options);
  }
  const record = await findStored(options.store, name);
  const stored = record && (await openRecord(record, options));
  if (stored) return stored;
  if (!looksLikeName(name)) throw noSource(name);
  const kept = (await allModelRecords(options.store)).filter((each) => each.complete && !findInCatalogue(each.name));
  throw unknownName(name, kept.map((each) => each.name));
}
