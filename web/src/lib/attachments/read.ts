// A file that the reader picked, dropped or pasted, made ready to be sent: its bytes are stored, its text is read.
import { putFile } from '#lib/storage/files.ts';
import type { FileKind, FileRef } from '#lib/types/conversation.ts';
import { kindOf, textOf } from './kind.ts';
import { largest, mostDecoded, mostPages, mostPictured } from './limits.ts';
import { sizeOf } from './picture_size.ts';

export type Refusal = 'empty' | 'binary' | 'large' | 'pixels' | 'broken' | 'encrypted' | 'noText' | 'store';

export class Refused extends Error {
  constructor(
    readonly reason: Refusal,
    readonly file: string,
    // What it has, and what is taken: bytes or pixels.
    readonly numbers: { has: number; most: number } = { has: 0, most: 0 },
  ) {
    super(reason);
  }
}

export interface ReadFile {
  ref: FileRef;
  // Pages of a PDF that are read, where it has more.
  pagesOf?: number;
}

async function store(blob: Blob, name: string) {
  try {
    return await putFile(blob);
  } catch {
    throw new Refused('store', name);
  }
}

// `sees`: whether the model takes pictures, so that a PDF without text is given as such. Errors: Refused.
export async function readFile(file: File, sees = false): Promise<ReadFile> {
  if (file.size === 0) throw new Refused('empty', file.name);
  const most = Math.max(...Object.values(largest));
  if (file.size > most) throw new Refused('large', file.name, { has: file.size, most });
  const bytes = new Uint8Array(await file.arrayBuffer());
  const found = kindOf(bytes);
  if (!found) throw new Refused('binary', file.name);
  const { kind, type } = found;
  if (file.size > largest[kind]) throw new Refused('large', file.name, { has: file.size, most: largest[kind] });
  const asItIs = new Blob([bytes], { type });
  const blob = kind === 'image' ? await picture(asItIs, bytes, file.name) : asItIs;
  const text = kind === 'text' ? textOf(bytes) : undefined;
  const pdf = kind === 'pdf' ? await readPdf(bytes, file.name, sees) : undefined;
  const ref: FileRef = { sha256: await store(blob, file.name), name: file.name, kind, type: blob.type, bytes: blob.size };
  if (text !== undefined) ref.text = text;
  if (!pdf) return { ref };
  ref.text = pdf.text;
  if (pdf.text === '') return asPictures(ref, bytes);
  return pdf.pages > mostPages ? { ref, pagesOf: mostPages } : { ref };
}

// A PDF as images of its pages. `data`: where its bytes are at hand. Errors: Refused.
export async function asPictures(ref: FileRef, data: Uint8Array): Promise<ReadFile> {
  const { pdfPictures } = await import('./pdf.ts');
  const read = await pdfPictures(data.slice()).catch((error: unknown) => {
    throw new Refused('broken', ref.name);
  });
  const pages: string[] = [];
  for (const one of read.pictures) pages.push(await store(one, ref.name));
  const shown = { ...ref, pages };
  return read.pages > mostPictured ? { ref: shown, pagesOf: mostPictured } : { ref: shown };
}

export function asText({ pages: _, ...ref }: FileRef): FileRef {
  return ref;
}

async function picture(blob: Blob, bytes: Uint8Array, name: string): Promise<Blob> {
  const size = sizeOf(bytes, blob.type);
  const has = size ? size.width * size.height : 0;
  if (has > mostDecoded) throw new Refused('pixels', name, { has, most: mostDecoded });
  const { scaled } = await import('./image.ts');
  return await scaled(blob).catch(() => {
    throw new Refused('broken', name);
  });
}

async function readPdf(bytes: Uint8Array, name: string, sees: boolean) {
  const { Encrypted, pdfText } = await import('./pdf.ts');
  const read = await pdfText(bytes.slice()).catch((error: unknown) => {
    throw new Refused(error instanceof Encrypted ? 'encrypted' : 'broken', name);
  });
  if (!read.text && !sees) throw new Refused('noText', name);
  return read;
}
