// Files of llama-server's messages (`extra`): TEXT{name, content}, IMAGE{name, base64Url}, PDF{name, content,
// base64Data, images?, processedAsImages}, AUDIO and VIDEO{name, base64Data, mimeType}. Older versions have other names
// of these types.
import { base64OfBlob, blobOfDataUrl, bytesOfBase64, dataUrlOfBlob } from '#lib/base/base64.ts';
import { compact, dictOf, equal, isDict, listOf, restOf, textOf, type Dict } from '#lib/base/values.ts';
import type { FileKind, FileRef } from '#lib/types/conversation.ts';
import type { Reading } from './reading.ts';

export type FileOf = (sha256: string) => Promise<Blob | undefined>;

const typeOf: Record<FileKind, string> = { text: 'TEXT', image: 'IMAGE', pdf: 'PDF', audio: 'AUDIO', video: 'VIDEO' };
const kindOf: Record<string, FileKind> = {
  ...Object.fromEntries(Object.entries(typeOf).map(([kind, type]) => [type, kind as FileKind])),
  context: 'text',
  textFile: 'text',
  imageFile: 'image',
  pdfFile: 'pdf',
  audioFile: 'audio',
  videoFile: 'video',
};

const plain = 'text/plain';
// What our words say with the bytes.
const bytesKeys = ['base64Url', 'base64Data', 'images'];

// Undefined when it is none of these, or has no bytes that can be read: then it is kept as it is.
export async function fileOfExtra(extra: unknown, reading: Reading): Promise<FileRef | undefined> {
  if (!isDict(extra)) return undefined;
  const kind = Object.hasOwn(kindOf, String(extra.type)) ? kindOf[String(extra.type)]! : undefined;
  if (!kind) return undefined;
  const own = dictOf(extra.puna);
  const name = textOf(extra.name) ?? '';
  const blob = blobOf(kind, extra, textOf(own.type));
  if (!blob) {
    // Exported without its bytes, which were lost before.
    const lost = textOf(own.sha256);
    if (lost !== undefined && typeof own.bytes === 'number') {
      return compact({
        sha256: lost,
        name,
        kind,
        type: textOf(own.type) ?? '',
        bytes: own.bytes,
        text: textOf(extra.content),
      });
    }
    reading.problems.add(`The file “${name}” has no bytes that can be read; it is kept as it is, and not shown.`);
    return undefined;
  }
  const ref: FileRef = { sha256: await reading.put(blob), name, kind, type: blob.type, bytes: blob.size };
  if (kind === 'text' || kind === 'pdf') ref.text = textOf(extra.content) ?? '';
  if (kind === 'pdf' && extra.processedAsImages === true) {
    const pages = listOf(extra.images).flatMap((url) => blobOfDataUrl(textOf(url) ?? '') ?? []);
    ref.pages = [];
    for (const page of pages) ref.pages.push(await reading.put(page));
  }
  const said = { ...fields(ref), type: typeOf[kind] } as Dict;
  const unknown = restOf(
    extra,
    Object.keys(extra).filter((key) => key === 'puna' || bytesKeys.includes(key) || equal(extra[key], said[key])),
  );
  if (unknown) ref.unknown = unknown;
  return ref;
}

export async function extraOfFile(ref: FileRef, fileOf: FileOf): Promise<Dict> {
  const blob = ref.kind === 'text' ? undefined : await fileOf(ref.sha256);
  const out: Dict = { type: typeOf[ref.kind], ...fields(ref) };
  if (ref.kind === 'image') out.base64Url = blob ? await dataUrlOfBlob(blob) : '';
  else if (ref.kind !== 'text') out.base64Data = blob ? await base64OfBlob(blob) : '';
  if (ref.pages) {
    const pages = await Promise.all(ref.pages.map(fileOf));
    out.images = await Promise.all(pages.flatMap((page) => (page ? dataUrlOfBlob(page) : [])));
  }
  if (ref.kind === 'text' && ref.type !== plain) out.puna = { type: ref.type };
  if (ref.kind !== 'text' && !blob) out.puna = { sha256: ref.sha256, type: ref.type, bytes: ref.bytes };
  return { ...out, ...ref.unknown };
}

// But for the bytes.
function fields({ kind, name, text, type, pages }: FileRef): Dict {
  switch (kind) {
    case 'text':
      return { name, content: text ?? '' };
    case 'image':
      return { name };
    case 'pdf':
      return { name, content: text ?? '', processedAsImages: pages !== undefined };
    case 'audio':
    case 'video':
      return { name, mimeType: type };
  }
}

function blobOf(kind: FileKind, extra: Dict, ownType: string | undefined): Blob | undefined {
  if (kind === 'text') {
    const content = textOf(extra.content);
    return content === undefined ? undefined : new Blob([content], { type: ownType ?? plain });
  }
  // Images of other places are not fetched: that would tell those who is reading.
  if (kind === 'image') return some(blobOfDataUrl(textOf(extra.base64Url) ?? ''));
  const bytes = bytesOfBase64(textOf(extra.base64Data) ?? '');
  return some(
    bytes && new Blob([bytes], { type: kind === 'pdf' ? 'application/pdf' : (textOf(extra.mimeType) ?? '') }),
  );
}

function some(blob: Blob | undefined): Blob | undefined {
  return blob && blob.size > 0 ? blob : undefined;
}
