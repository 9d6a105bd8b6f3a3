// Pieces of texts as they are kept (src/engine/saved_prefix.h): their names, which of them a text begins with, and which go when there
// is no room. A piece holds tokens [first, end) of a text and is named by the text up to its end, so that equal beginnings are kept once.
import { bytesSha256 } from '../sources/keys.js';

export interface Piece {
  model: string; // digest; the folder
  name: string;
  first: number;
  end: number;
  hash: string; // of what computed it and of the tokens up to its end
  bytes: number;
  usedAt: number; // ms since 1970; 0: not known
}

// More would make opening the folder slow.
export const kMostPieces = 1000;
export const kDefaultBytes = 256 << 20;

const kHashDigits = 40;

export function pieceName(first: number, end: number, hash: string): string {
  return `${first}-${end}-${hash}`;
}

// Null for a file of another kind.
export function parseName(name: string): Pick<Piece, 'first' | 'end' | 'hash'> | null {
  const match = /^(\d{1,9})-(\d{1,9})-([0-9a-f]{40})$/.exec(name);
  if (!match) return null;
  const [first, end] = [Number(match[1]), Number(match[2])];
  return first < end ? { first, end, hash: match[3]! } : null;
}

// `identity`: what computed the piece, as text.
export async function pieceHash(identity: string, tokens: readonly number[]): Promise<string> {
  const head = new TextEncoder().encode(`${identity}\n`);
  const bytes = new Uint8Array(head.length + 4 * tokens.length);
  bytes.set(head);
  bytes.set(new Uint8Array(Int32Array.from(tokens).buffer), head.length);
  return (await bytesSha256(bytes)).slice(0, kHashDigits);
}

// The pieces, one after the other, that reach furthest into the first `limit` tokens of a text.
export async function longestChain(pieces: readonly Piece[], identity: string, tokens: readonly number[], limit: number): Promise<Piece[]> {
  const hashes = new Map<number, string>();
  for (const { end } of pieces) {
    if (end <= limit && !hashes.has(end)) hashes.set(end, await pieceHash(identity, tokens.slice(0, end)));
  }
  const ofText = pieces.filter(({ end, hash }) => hashes.get(end) === hash).sort((a, b) => a.end - b.end);
  const chains = new Map<number, Piece[]>([[0, []]]); // by where they end; those with the fewest pieces
  for (const piece of ofText) {
    const before = chains.get(piece.first);
    const known = chains.get(piece.end);
    if (before && (!known || before.length + 1 < known.length)) chains.set(piece.end, [...before, piece]);
  }
  return chains.get(Math.max(...chains.keys()))!;
}

// What has to go so that `bytes` are kept at most: what was used longest ago, and of a text its end first.
export function tooMany(pieces: readonly Piece[], bytes: number, count = kMostPieces): Piece[] {
  const victims = [...pieces].sort((a, b) => a.usedAt - b.usedAt || b.end - a.end);
  let total = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
  let n = 0;
  while (n < victims.length && (total > bytes || pieces.length - n > count)) total -= victims[n++]!.bytes;
  return victims.slice(0, n);
}
