// What a file is, told by its first bytes; its name and type only say which of two texts it is.
import type { FileKind } from '#lib/types/conversation.ts';

interface Sign {
  kind: FileKind;
  type: string;
  at: number;
  bytes: string;
}

const signs: readonly Sign[] = [
  { kind: 'pdf', type: 'application/pdf', at: 0, bytes: '%PDF-' },
  { kind: 'image', type: 'image/png', at: 0, bytes: '\x89PNG\r\n\x1a\n' },
  { kind: 'image', type: 'image/jpeg', at: 0, bytes: '\xff\xd8\xff' },
  { kind: 'image', type: 'image/gif', at: 0, bytes: 'GIF8' },
  { kind: 'image', type: 'image/webp', at: 8, bytes: 'WEBP' },
  { kind: 'image', type: 'image/avif', at: 4, bytes: 'ftypavif' },
  { kind: 'image', type: 'image/bmp', at: 0, bytes: 'BM' },
  { kind: 'audio', type: 'audio/wav', at: 8, bytes: 'WAVE' },
  { kind: 'audio', type: 'audio/mpeg', at: 0, bytes: 'ID3' },
  { kind: 'audio', type: 'audio/mpeg', at: 0, bytes: '\xff\xfb' },
  { kind: 'audio', type: 'audio/mpeg', at: 0, bytes: '\xff\xf3' },
  { kind: 'audio', type: 'audio/flac', at: 0, bytes: 'fLaC' },
  { kind: 'audio', type: 'audio/ogg', at: 0, bytes: 'OggS' },
];

export interface Kind {
  kind: FileKind;
  type: string;
}

// Undefined: neither one of those nor text.
export function kindOf(bytes: Uint8Array): Kind | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 32));
  const sign = signs.find((one) => head.startsWith(one.bytes, one.at));
  if (sign) return { kind: sign.kind, type: sign.type };
  return textOf(bytes) === undefined ? undefined : { kind: 'text', type: 'text/plain' };
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
