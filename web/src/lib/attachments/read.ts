// A file that the reader picked, dropped or pasted, made ready to be sent: its bytes are stored, its text is read.
import { putFile } from '#lib/storage/files.ts';
import type { FileKind, FileRef } from '#lib/types/conversation.ts';
import { mostPages } from './limits.ts';
import { kindOf, textOf } from './kind.ts';

export type Refusal = 'empty' | 'binary' | 'large' | 'broken' | 'encrypted' | 'noText' | 'store';

export class Refused extends Error {
  constructor(
    readonly reason: Refusal,
    readonly file: string,
  ) {
    super(reason);
  }
}

export const largest: Record<FileKind, number> = { text: 20e6, pdf: 100e6, image: 50e6, audio: 100e6, video: 0 };

async function store(blob: Blob, name: string) {
  try {
    return await putFile(blob);
  } catch {
    throw new Refused('store', name);
  }
}

// Errors: Refused.
export async function readFile(file: File): Promise<{ ref: FileRef; pagesLeftOut?: number }> {
  if (file.size === 0) throw new Refused('empty', file.name);
  if (file.size > Math.max(...Object.values(largest))) throw new Refused('large', file.name);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const kind = kindOf(bytes);
  if (!kind) throw new Refused('binary', file.name);
  if (file.size > largest[kind.kind]) throw new Refused('large', file.name);
  let blob: Blob = new Blob([bytes], { type: kind.type });
  let text: string | undefined;
  let left = 0;
  if (kind.kind === 'text') text = textOf(bytes)!;
  if (kind.kind === 'image') {
    const { scaled } = await import('./image.ts');
    blob = await scaled(blob).catch(() => {
      throw new Refused('broken', file.name);
    });
  }
  if (kind.kind === 'pdf') {
    const pdf = await import('./pdf.ts');
    const read = await pdf.pdfText(bytes.slice()).catch((error: unknown) => {
      throw new Refused(error instanceof pdf.Encrypted ? 'encrypted' : 'broken', file.name);
    });
    if (!read.text) throw new Refused('noText', file.name);
    text = read.text;
    left = Math.max(0, read.pages - mostPages);
  }
  const sha256 = await store(blob, file.name);
  const ref: FileRef = { sha256, name: file.name, kind: kind.kind, type: blob.type, bytes: blob.size };
  if (text !== undefined) ref.text = text;
  return left ? { ref, pagesLeftOut: left } : { ref };
}
