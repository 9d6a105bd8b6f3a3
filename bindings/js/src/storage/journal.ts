// The journal of a download in OPFS: what is known of the file, then one byte a chunk that says whether it is stored. A byte is
// written as a whole or not, so no cut leaves a journal that tells of chunks that are not there.
//   u32 little-endian: length of the JSON; the JSON (PartialHeader); then 1 for each chunk that is stored
import type { PartialHeader } from './blob_store.js';

const kLengthBytes = 4;
const kMaxHeaderBytes = 1 << 20;

export interface Journal {
  header: PartialHeader;
  mapOffset: number; // of the first chunk's byte
  chunks: boolean[];
}

export function encodeJournal(header: PartialHeader): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(kLengthBytes + json.length);
  new DataView(bytes.buffer).setUint32(0, json.length, true);
  bytes.set(json, kLengthBytes);
  return bytes;
}

// Null when the bytes are no journal: the download then starts anew.
export function decodeJournal(bytes: Uint8Array): Journal | null {
  if (bytes.length < kLengthBytes) return null;
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const mapOffset = kLengthBytes + length;
  if (length > kMaxHeaderBytes || mapOffset > bytes.length) return null;
  const header = parseHeader(new TextDecoder().decode(bytes.subarray(kLengthBytes, mapOffset)));
  if (!header) return null;
  return { header, mapOffset, chunks: Array.from(bytes.subarray(mapOffset), (byte) => byte === 1) };
}

export function parseHeader(json: string): PartialHeader | null {
  let value: Partial<Record<keyof PartialHeader, unknown>>;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || typeof value.url !== 'string') return null;
  const text = (field: unknown) => (typeof field === 'string' ? field : null);
  return {
    url: value.url,
    size: typeof value.size === 'number' && value.size >= 0 ? value.size : null,
    digest: text(value.digest),
    etag: text(value.etag),
    lastModified: text(value.lastModified),
  };
}
