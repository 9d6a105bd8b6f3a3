// The bytes of files, once each under their SHA-256.
import { sha256OfBlob } from '#lib/base/sha256.ts';
import type { Quota } from '#lib/types/storage.ts';
import { storage, type Storage } from './storage.ts';

// Gives the SHA-256 in lower-case hex. Ends when the bytes are saved, or kept in memory where there is no room.
export async function putFile(blob: Blob, to: Storage = storage): Promise<string> {
  const sha256 = await sha256OfBlob(blob);
  await putHashed([[sha256, blob]], to);
  return sha256;
}

// Those whose SHA-256 is known.
export async function putHashed(files: Iterable<[string, Blob]>, to: Storage = storage): Promise<void> {
  for (const [sha256, blob] of files) {
    const known = await to.row('files', sha256);
    if (!known) await to.commit([{ table: 'files', put: [{ sha256, type: blob.type, bytes: blob }] }]);
    // It is used again.
    else if (known.unusedSince !== undefined)
      await to.commit([{ table: 'files', key: sha256, patch: { unusedSince: undefined } }]);
  }
}

export async function getFile(sha256: string, from: Storage = storage): Promise<Blob | undefined> {
  return (await from.row('files', sha256))?.bytes ?? from.elsewhere?.(sha256);
}

export async function quota(of: Storage = storage): Promise<Quota> {
  // Not there over plain http.
  const manager = globalThis.navigator?.storage as StorageManager | undefined;
  const persisted = (await manager?.persisted?.().catch(() => false)) ?? false;
  const said = await manager?.estimate?.().catch(() => undefined);
  if (said?.usage !== undefined) {
    const availableBytes = said.quota === undefined ? null : Math.max(0, said.quota - said.usage);
    return { usedBytes: said.usage, availableBytes, persisted };
  }
  let usedBytes = 0;
  for await (const files of of.slices('files')) for (const file of files) usedBytes += file.bytes.size;
  for await (const messages of of.slices('messages'))
    for (const { content } of messages) usedBytes += 2 * content.length;
  return { usedBytes, availableBytes: null, persisted };
}

// Asks the browser not to clear the data by itself; whether it agreed.
export async function persist(): Promise<boolean> {
  const manager = globalThis.navigator?.storage as StorageManager | undefined;
  return (await manager?.persist?.().catch(() => false)) ?? false;
}
