// A model and the encoder of pictures and sounds beside it (an mmproj file), which come one after the other.
import type { ModelFiles } from '../engine/model_files.js';
import { PunaError } from '../errors.js';
import { findInCatalogue } from './catalogue.js';
import { encoderOf, findStored, getModelRecord, putEncoderOf } from './model_records.js';
import { openModel, type OpenOptions } from './open_model.js';
import type { Progress } from './progress.js';
import type { BlobStore } from '../storage/blob_store.js';
import type { SourceSpec } from './source.js';

// Resolves as soon as the engine can begin to read both.
export async function openWithEncoder(
  source: SourceSpec,
  encoder: SourceSpec,
  onProgress: (progress: Progress) => void,
  options: Omit<OpenOptions, 'onProgress'>,
): Promise<ModelFiles> {
  const told: (Progress | null)[] = [null, null];
  const both = (which: number) => (progress: Progress) => {
    told[which] = progress;
    onProgress(sum(progress, told));
  };
  const model = await openModel(source, { ...options, onProgress: both(0) });
  try {
    const mmproj = await openModel(encoder, { ...options, onProgress: both(1) });
    if (mmproj.parts.length !== 1) {
      mmproj.close();
      throw new PunaError('invalid_argument', `The encoder "${mmproj.name}" has ${mmproj.parts.length} files; an mmproj file is one.`);
    }
    const verified = Promise.all([model.verified, mmproj.verified]).then(([digest]) => digest);
    return { ...model, verified, mmproj, close: () => model.close() };
  } catch (error) {
    model.close();
    throw error;
  }
}

// Both were loaded together: where both are stored, the model has its encoder from now on.
export async function rememberEncoder(source: SourceSpec, encoder: SourceSpec, keep: boolean, openStore: () => Promise<BlobStore>): Promise<void> {
  if (!keep && (source.kind === 'files' || encoder.kind === 'files')) return;
  const store = await openStore();
  const [model, mmproj] = [await recordId(source, store), await recordId(encoder, store)];
  if (model !== null && mmproj !== null) await putEncoderOf(store, model, mmproj);
}

// The id under which a source is stored; null where it is not.
async function recordId(spec: SourceSpec, store: BlobStore): Promise<string | null> {
  if (spec.kind === 'files') return `kept:${spec.name}`;
  if (spec.kind !== 'name') return spec.id;
  const entry = findInCatalogue(spec.name);
  if (entry) return `sha256-${entry.sha256}`;
  return (await findStored(store, spec.name))?.id ?? null;
}

// The encoder that a stored model was loaded with; null: none.
export async function storedEncoder(source: SourceSpec, store: BlobStore): Promise<SourceSpec | null> {
  const model = source.kind === 'files' ? null : await recordId(source, store);
  const id = model === null ? null : await encoderOf(store, model);
  const record = id === null ? null : await getModelRecord(store, id);
  const part = record?.complete ? record.parts[0] : undefined;
  return record && part ? { kind: 'url', id: record.id, url: part.url ?? '', digest: part.digest, size: part.size, name: record.name } : null;
}

// What is known of both, as one download.
function sum(progress: Progress, all: readonly (Progress | null)[]): Progress {
  const known = all.filter((each) => each !== null);
  const totals = known.map(({ totalBytes }) => totalBytes);
  return {
    ...progress,
    source: known.some(({ source }) => source === 'network') ? 'network' : progress.source,
    doneBytes: known.reduce((bytes, each) => bytes + each.doneBytes, 0),
    totalBytes: totals.includes(null) || known.length < all.length ? null : totals.reduce((bytes: number, each) => bytes + each!, 0),
  };
}
