// What is kept of each model: its name, where it came from, and its files. For finding it again offline, listing and deleting.
import { PunaError } from '../errors.js';
import type { BlobStore, StoreKind } from '../storage/blob_store.js';
import { downloadLock, withLock } from '../storage/locks.js';
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

// Removes the models of this name or id, with encoders that no other model has, all files that no other has, and what is kept of texts. Returns the bytes that were freed.
export async function deleteModels(stores: readonly BlobStore[], nameOrId: string): Promise<number> {
  let found = false;
  let freed = 0;
  for (const store of stores) {
    const records = await allModelRecords(store);
    const named = (record: ModelRecord) => [record.id, record.name, record.name.replace(/:latest$/, '')].includes(nameOrId);
    const gone = new Set(records.filter(named).map(({ id }) => id));
    const encoders = await allEncoders(store);
    for (const { model, mmproj } of encoders) {
      if (gone.has(model) && !encoders.some((each) => each.mmproj === mmproj && !gone.has(each.model))) gone.add(mmproj);
    }
    const wanted = ({ id }: ModelRecord) => gone.has(id);
    for (const { model } of encoders.filter((each) => gone.has(each.model))) await store.records.delete(kEncoderPrefix + (await textSha256(model)));
    const name = (part: PartRecord) => storedName(store, part);
    const others = new Set(await Promise.all(records.filter((record) => !wanted(record)).flatMap(({ parts }) => parts.map(name))));
    const sizes = new Map((await store.list()).map(({ name, bytes }) => [name, bytes]));
    for (const record of records.filter(wanted)) {
      found = true;
      for (const part of record.parts) {
        const file = await name(part);
        if (others.has(file)) continue;
        await removeFile(store, file);
        if (part.url !== null) await store.records.delete(await addressKey(part.url));
        freed += sizes.get(file) ?? 0;
        sizes.delete(file);
      }
      await store.records.delete(kPrefix + (await textSha256(record.id)));
      freed += await clearTextsOf(record);
    }
  }
  if (!found) throw new PunaError('not_found', `No model "${nameOrId}" is stored; Puna.models.list() tells which are.`);
  return freed;
}

// What is kept of texts goes with the model.
async function clearTextsOf({ parts }: ModelRecord): Promise<number> {
  if (parts.some(({ digest }) => digest === null)) return 0; // nothing was ever computed with it
  return clearTexts(await modelDigest(parts.map(({ path, digest }) => ({ path, digest: digest! }))));
}

// Not while a tab downloads it.
function removeFile(store: BlobStore, name: string): Promise<void> {
  const signal = AbortSignal.timeout(1000);
  return withLock(downloadLock(name), signal, () => store.remove(name)).catch((error: unknown) => {
    const busy = signal.aborted || (error as Error).name === 'NoModificationAllowedError';
    throw busy ? new PunaError('in_use', 'The model is open or being downloaded in a tab; close its engine there first.') : error;
  });
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
