// Blobs that nobody deletes while they are open.
import type { BlobReader, BlobStore } from './blob_store.js';
import { blobLock, holdShared } from './locks.js';

// Null where there is none. The caller closes it.
export async function openHeld(store: BlobStore, digest: string): Promise<BlobReader | null> {
  const release = await holdShared(blobLock(digest));
  try {
    const reader = await store.open(digest);
    if (!reader) {
      release();
      return null;
    }
    const { size, sync } = reader;
    return { size, sync, read: (offset, out) => reader.read(offset, out), close: () => (reader.close(), release()) };
  } catch (error) {
    release();
    throw error;
  }
}
