// What is kept of each model: its name, where it came from, and its files. For finding it again offline, listing and deleting.
import { PunaError } from '../errors.js';
import type { BlobStore, StoreKind } from '../storage/blob_store.js';
import { blobLock, downloadLock, withLocks } from '../storage/locks.js';
import { clearTexts } from '../prefixes/prefix_store.js';
import { type AddressRecord, addressKey, modelDigest, textSha256 } from './keys.js';

export interface PartRecord {
  path: string;
  url: string | null; // null: a file of this machine
  digest: string | null; // null until it is complete
  size: number | null;
}

export interface ModelRecord {
  id: string;
  name: string;
  parts: PartRecord[];
  complete: boolean;
  storedAt: string; // ISO 8601
}

// A model in the browser's storage, as Puna.models.list() gives it.
export interface StoredModel {
  name: string;
  id: string; // for Puna.models.delete(); an address, a digest or kept:<name>
  bytes: number; // in storage now
  totalBytes: number | null; // of the whole model, where it is known
  complete: boolean;
  storedAt: string;
  storage: StoreKind;
  mmproj: string | null; // id of the encoder of pictures and sounds that it is loaded with
  encoder: boolean; // it is one, beside another model
}

const kPrefix = 'model-';
// Of the encoders beside models.
const kEncoderPrefix = 'encoder-';

interface EncoderRecord {
  model: string; // ids
  mmproj: string;
}

export async function putEncoderOf(store: BlobStore, model: string, mmproj: string): Promise<void> {
  await store.records.put(kEncoderPrefix + (await textSha256(model)), { model, mmproj } satisfies EncoderRecord);
}

export async function encoderOf(store: BlobStore, model: string): Promise<string | null> {
  return ((await store.records.get(kEncoderPrefix + (await textSha256(model)))) as EncoderRecord | null)?.mmproj ?? null;
}

async function allEncoders(store: BlobStore): Promise<EncoderRecord[]> {
  const keys = (await store.records.keys()).filter((key) => key.startsWith(kEncoderPrefix));
  const found = await Promise.all(keys.map((key) => store.records.get(key)));
  return found.filter((each) => each !== null) as EncoderRecord[];
}

export async function putModelRecord(store: BlobStore, record: ModelRecord): Promise<void> {
  await store.records.put(kPrefix + (await textSha256(record.id)), record);
}

export async function getModelRecord(store: BlobStore, id: string): Promise<ModelRecord | null> {
  return toRecord(await store.records.get(kPrefix + (await textSha256(id))));
}

export async function allModelRecords(store: BlobStore): Promise<ModelRecord[]> {
  const records: ModelRecord[] = [];
  for (const key of await store.records.keys()) {
    const record = key.startsWith(kPrefix) ? toRecord(await store.records.get(key)) : null;
    if (record) records.push(record);
  }
  return records;
}

// The complete model of this id, else of this name; null where there is none.
export async function findStored(store: BlobStore, nameOrId: string): Promise<ModelRecord | null> {
  const complete = (await allModelRecords(store)).filter((record) => record.complete);
  return complete.find(({ id }) => id === nameOrId) ?? complete.find(({ name }) => name === nameOrId) ?? null;
}

export async function listModels(stores: readonly BlobStore[]): Promise<StoredModel[]> {
  const models: StoredModel[] = [];
  for (const store of stores) {
    const sizes = new Map((await store.list()).map(({ name, bytes }) => [name, bytes]));
    const encoders = await allEncoders(store);
    for (const record of await allModelRecords(store)) {
      const names = await Promise.all(record.parts.map((part) => storedName(store, part)));
      const bytes = names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
      const complete = record.parts.every(({ digest }) => digest !== null && sizes.has(digest)) && record.complete;
      if (bytes === 0 && !complete) continue; // its download came to nothing
      const known = record.parts.every(({ size }) => size !== null);
      const totalBytes = known ? record.parts.reduce((sum, { size }) => sum + size!, 0) : null;
      const mmproj = encoders.find(({ model }) => model === record.id)?.mmproj ?? null;
      const encoder = encoders.some((each) => each.mmproj === record.id);
      models.push({ name: record.name, id: record.id, bytes, totalBytes, complete, storedAt: record.storedAt, storage: store.kind, mmproj, encoder });
    }
  }
  return models;
}

// What goes when models are deleted from a store.
interface Removal {
  store: BlobStore;
  records: ModelRecord[];
  encoders: EncoderRecord[];
  files: { name: string; url: string | null }[]; // that no other model has
}

// Removes the models of this name or id, with encoders that no other model has, all files that no other has, and what is kept of texts: all
// of it, or nothing where a file is in use. Returns the bytes that were freed.
export async function deleteModels(stores: readonly BlobStore[], nameOrId: string): Promise<number> {
  const removals: Removal[] = [];
  for (const store of stores) removals.push(await removalOf(store, nameOrId));
  if (removals.every(({ records }) => records.length === 0)) throw new PunaError('not_found', `No model "${nameOrId}" is stored; Puna.models.list() tells which are.`);
  return whileUnused(removals.flatMap(({ files }) => files.map(({ name }) => name)), async () => {
    let freed = 0;
    for (const removal of removals) freed += await remove(removal);
    return freed;
  });
}

async function removalOf(store: BlobStore, nameOrId: string): Promise<Removal> {
  const all = await allModelRecords(store);
  const named = (record: ModelRecord) => [record.id, record.name, record.name.replace(/:latest$/, '')].includes(nameOrId);
  const gone = new Set(all.filter(named).map(({ id }) => id));
  const encoders = await allEncoders(store);
  for (const { model, mmproj } of encoders) {
    if (gone.has(model) && !encoders.some((each) => each.mmproj === mmproj && !gone.has(each.model))) gone.add(mmproj);
  }
  const fileOf = async (part: PartRecord) => ({ name: await storedName(store, part), url: part.url });
  const filesOf = (records: readonly ModelRecord[]) => Promise.all(records.flatMap(({ parts }) => parts.map(fileOf)));
  const records = all.filter(({ id }) => gone.has(id));
  const others = new Set((await filesOf(all.filter(({ id }) => !gone.has(id)))).map(({ name }) => name));
  const files = (await filesOf(records)).filter(({ name }) => !others.has(name));
  return { store, records, encoders: encoders.filter(({ model }) => gone.has(model)), files };
}

// The records go last: what is left of a model when something fails can be listed, and deleted again.
async function remove({ store, records, encoders, files }: Removal): Promise<number> {
  const sizes = new Map((await store.list()).map(({ name, bytes }) => [name, bytes]));
  let freed = 0;
  for (const record of records) freed += await clearTextsOf(record);
  for (const { name } of files) {
    await store.remove(name);
    freed += sizes.get(name) ?? 0;
    sizes.delete(name);
  }
  for (const { url } of files) if (url !== null) await store.records.delete(await addressKey(url));
  for (const { model } of encoders) await store.records.delete(kEncoderPrefix + (await textSha256(model)));
  for (const { id } of records) await store.records.delete(kPrefix + (await textSha256(id)));
  return freed;
}

// What is kept of texts goes with the model.
async function clearTextsOf({ parts }: ModelRecord): Promise<number> {
  if (parts.some(({ digest }) => digest === null)) return 0; // nothing was ever computed with it
  return clearTexts(await modelDigest(parts.map(({ path, digest }) => ({ path, digest: digest! }))));
}

// Not while a tab downloads one of the files or has it open. A worker that has just been ended gives its locks back a moment later.
async function whileUnused<T>(files: readonly string[], run: () => Promise<T>): Promise<T> {
  const sorted = [...new Set(files)].sort();
  const signal = AbortSignal.timeout(1000);
  let begun = false;
  const begin = () => {
    begun = true;
    return run();
  };
  try {
    return await withLocks([...sorted.map(downloadLock), ...sorted.map(blobLock)], signal, begin);
  } catch (error) {
    const busy = begun ? (error as Error).name === 'NoModificationAllowedError' : signal.aborted;
    throw busy ? new PunaError('in_use', 'The model is open or being downloaded in a tab; close its engine there first.') : error;
  }
}

// Of a file in the store: its digest, or the key of its download.
async function storedName(store: BlobStore, { digest, url }: PartRecord): Promise<string> {
  if (digest !== null || url === null) return digest ?? '';
  const key = await addressKey(url);
  return ((await store.records.get(key)) as AddressRecord | null)?.digest ?? key;
}

function toRecord(value: unknown): ModelRecord | null {
  const record = value as ModelRecord | null;
  return record && typeof record.id === 'string' && typeof record.name === 'string' && Array.isArray(record.parts) ? record : null;
}
