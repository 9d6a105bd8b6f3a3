// What a file is, told by its first bytes; its name and type only say which of two texts it is.
import type { FileKind } from '#lib/types/conversation.ts';

interface Sign {
  kind: FileKind;
  type: string;
  // Of the first bytes, a character each. More than a name of letters, which texts begin with too ("BMW", "ID3 tags").
  head: RegExp;
}

const signs: readonly Sign[] = [
  { kind: 'pdf', type: 'application/pdf', head: /^%PDF-/ },
  { kind: 'image', type: 'image/png', head: /^\x89PNG\r\n\x1a\n/ },
  { kind: 'image', type: 'image/jpeg', head: /^\xff\xd8\xff/ },
  { kind: 'image', type: 'image/gif', head: /^GIF8[79]a/ },
  { kind: 'image', type: 'image/webp', head: /^RIFF[^]{4}WEBP/ },
  { kind: 'image', type: 'image/avif', head: /^[^]{4}ftypavif/ },
  // Its size, four zeros, where the pixels begin.
  { kind: 'image', type: 'image/bmp', head: /^BM[^]{4}\0{4}[^]{2}\0{2}/ },
  { kind: 'audio', type: 'audio/wav', head: /^RIFF[^]{4}WAVE/ },
  { kind: 'audio', type: 'audio/mpeg', head: /^ID3[\x02-\x04]/ },
  // A frame of layer III.
  { kind: 'audio', type: 'audio/mpeg', head: /^\xff[\xe2\xe3\xf2\xf3\xfa\xfb]/ },
  { kind: 'audio', type: 'audio/flac', head: /^fLaC/ },
  { kind: 'audio', type: 'audio/ogg', head: /^OggS/ },
];

export interface Kind {
  kind: FileKind;
  type: string;
}

// Of a picture, sound or PDF; undefined for all else.
export function signOf(bytes: Uint8Array): Kind | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 32));
  const sign = signs.find((one) => one.head.test(head));
  return sign && { kind: sign.kind, type: sign.type };
}

// Undefined: neither one of those nor text.
export function kindOf(bytes: Uint8Array): Kind | undefined {
  return signOf(bytes) ?? (textOf(bytes) === undefined ? undefined : { kind: 'text', type: 'text/plain' });
}

// UTF-8 or, with its mark, UTF-16. Undefined where it is neither.
export function textOf(bytes: Uint8Array): string | undefined {
  const wide = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(wide, { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
