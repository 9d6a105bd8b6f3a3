// The bytes of files, once each under their SHA-256.
import type { Quota } from '#lib/types/storage.ts';

// Gives the SHA-256 in lower-case hex.
export async function putFile(blob: Blob): Promise<string> {
  throw new Error(`not yet ${blob}`);
}

export async function getFile(sha256: string): Promise<Blob | undefined> {
  throw new Error(`not yet ${sha256}`);
}

export async function quota(): Promise<Quota> {
  throw new Error('not yet');
}

// Asks the browser not to clear the data by itself; whether it agreed.
export async function persist(): Promise<boolean> {
  throw new Error('not yet');
}
