// Texts of files: lines as they come, and what is left of JSON that is damaged.
import type { Line } from './llama_jsonl.ts';

const sliceBytes = 4 << 20;
// Some browsers end strings at 512 Mi characters, and what is read of them is copied.
export const mostCharacters = 400 << 20;

// UTF-8, or what a mark at the beginning says.
async function decoderOf(blob: Blob): Promise<TextDecoder> {
  const [a, b] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  return new TextDecoder(a === 0xff && b === 0xfe ? 'utf-16le' : a === 0xfe && b === 0xff ? 'utf-16be' : 'utf-8');
}

export async function textOfFile(blob: Blob): Promise<string> {
  return (await decoderOf(blob)).decode(await blob.arrayBuffer());
}

// Those that are not empty. Errors: throws a sentence at a line that is longer than a string can be in some browsers.
export async function* linesOf(blob: Blob): AsyncGenerator<{ number: number; text: string }> {
  const decoder = await decoderOf(blob);
  let number = 0;
  let open: string[] = [];
  let length = 0;
  for (let at = 0; ; at += sliceBytes) {
    const isLast = at + sliceBytes >= blob.size;
    const text = decoder.decode(await blob.slice(at, at + sliceBytes).arrayBuffer(), { stream: !isLast });
    const parts = text.split('\n');
    for (const [i, part] of parts.entries()) {
      open.push(part);
      length += part.length;
      if (length > mostCharacters)
        throw new Error(`A line has more than ${mostCharacters} characters, which is too long to be read.`);
      if (i === parts.length - 1 && !isLast) break;
      const line = open.join('').trim();
      open = [];
      length = 0;
      ++number;
      if (line !== '') yield { number, text: line };
    }
    if (isLast) return;
  }
}

export async function* jsonLinesOf(blob: Blob): AsyncGenerator<Line> {
  for await (const { number, text } of linesOf(blob)) yield { number, value: parsed(text) };
}

// Undefined when it is no JSON (which has no such value).
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

// Items of an array, or the one object, of a text that is no whole JSON: each that can be read, the last one as far as
// it goes.
export function salvaged(text: string): { items: unknown[]; lost: number } {
  const start = text.search(/\S/);
  if (start < 0 || !'[{'.includes(text[start]!)) return { items: [], lost: 0 };
  const pieces = text[start] === '[' ? itemsOf(text, start + 1) : [text.slice(start)];
  const items: unknown[] = [];
  let lost = 0;
  for (const piece of pieces) {
    const item = parsed(piece) ?? parsed(closed(piece));
    if (item === undefined) ++lost;
    else items.push(item);
  }
  return { items, lost };
}

function itemsOf(text: string, from: number): string[] {
  const items: string[] = [];
  let start = from;
  const take = (to: number) => {
    const item = text.slice(start, to).trim();
    if (item !== '') items.push(item);
    start = to + 1;
  };
  let depth = 0;
  for (const { at, character } of marks(text, from)) {
    if (character === ',' && depth === 0) take(at);
    else if ('[{'.includes(character)) ++depth;
    else if (']}'.includes(character) && --depth < 0) {
      take(at);
      return items;
    }
  }
  take(text.length);
  return items;
}

// Up to the last item or member that is whole, with the brackets that are open there closed.
function closed(text: string): string {
  let cut = 0;
  let ends = '';
  let open = '';
  for (const { at, character } of marks(text, 0)) {
    if (character === '{') open = `}${open}`;
    else if (character === '[') open = `]${open}`;
    else if (character !== ',') open = open.slice(1);
    // Behind a comma or a bracket all before it is whole.
    cut = character === ',' ? at : at + 1;
    ends = open;
  }
  return text.slice(0, cut) + ends;
}

// Brackets and commas outside of strings.
function* marks(text: string, from: number): Generator<{ at: number; character: string }> {
  const pattern = /"(?:[^"\\]|\\.)*"?|[[\]{},]/gsy;
  const other = /[^"[\]{},]+/gy;
  for (let at = from; at < text.length;) {
    other.lastIndex = at;
    if (other.test(text)) at = other.lastIndex;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (!match) return;
    if (match[0].length === 1 && match[0] !== '"') yield { at, character: match[0] };
    at = pattern.lastIndex;
  }
}
