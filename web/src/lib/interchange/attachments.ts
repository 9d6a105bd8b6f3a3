// Files of other programs' exports, as ours.
import { signOf } from '#lib/attachments/kind.ts';
import { compact } from '#lib/base/values.ts';
import type { FileKind, FileRef } from '#lib/types/conversation.ts';
import type { Reading } from './reading.ts';

const kinds: readonly [RegExp, FileKind][] = [
  [/^image\//, 'image'],
  [/^application\/pdf$/, 'pdf'],
  [/^audio\//, 'audio'],
  [/^video\//, 'video'],
  [/^text\/|[+/](json|xml|yaml|javascript)$/, 'text'],
];

// Undefined for what messages of ours do not have.
export async function fileOf(blob: Blob, name: string, type: string, reading: Reading): Promise<FileRef | undefined> {
  const known = (await typeOf(blob)) ?? type;
  const kind = kinds.find(([pattern]) => pattern.test(known))?.[1];
  if (!kind) return undefined;
  const own = blob.type === known ? blob : new Blob([blob], { type: known });
  const text = kind === 'text' ? await own.text() : undefined;
  return compact({ sha256: await reading.put(own), name, kind, type: own.type, bytes: own.size, text });
}

export function textFile(text: string, name: string, reading: Reading): Promise<FileRef | undefined> {
  return fileOf(new Blob([text], { type: 'text/plain' }), name, 'text/plain', reading);
}

async function typeOf(blob: Blob): Promise<string | undefined> {
  return signOf(new Uint8Array(await blob.slice(0, 32).arrayBuffer()))?.type;
}
