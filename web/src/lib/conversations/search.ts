// Words in texts: case and accents do not count, every word has to be there.

export interface Hit {
  snippet: string;
  // Where in the snippet the first of the words stands: from, to (behind it).
  at: [number, number];
}

// Characters of the text before and behind what was found.
const before = 40;
const behind = 120;

// "Crème BRÛLÉE" -> "creme brulee".
export function fold(text: string): string {
  // The usual case is quick.
  if (isAscii(text)) return text.toLowerCase();
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
}

// Folded; a part in "quotes" is one word.
export function wordsOf(query: string): string[] {
  const parts = query.match(/"[^"]+"|\S+/g) ?? [];
  return [
    ...new Set(
      parts.map((part) => fold(/^"[^"]+"$/.test(part) ? part.slice(1, -1) : part)).filter((word) => word !== ''),
    ),
  ];
}

// Undefined where one of the words is missing.
export function find(text: string, words: readonly string[]): Hit | undefined {
  if (words.length === 0) return undefined;
  const folded = fold(text);
  if (!words.every((word) => folded.includes(word))) return undefined;
  const first = words.reduce((a, b) => (folded.indexOf(b) < folded.indexOf(a) ? b : a));
  const at = folded.indexOf(first);
  const [from, to] = unfold(text, at, at + first.length);
  return snippetOf(text, from, to);
}

// From places in the folded text to places in the text.
function unfold(text: string, from: number, to: number): [number, number] {
  if (isAscii(text)) return [from, to];
  let start = 0;
  let at = 0;
  let done = 0;
  for (const character of text) {
    if (done >= to) break;
    const next = done + fold(character).length;
    // Marks behind a character belong to it.
    if (done <= from && next > from) start = at;
    done = next;
    at += character.length;
  }
  while (/^\p{M}/u.test(text.slice(at, at + 2))) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return [start, at];
}

function snippetOf(text: string, from: number, to: number): Hit {
  let start = Math.max(0, from - before);
  let end = Math.min(text.length, to + behind);
  // Not amid a word where a space is near, never amid a surrogate pair.
  const space = text.indexOf(' ', start);
  if (start > 0 && space >= 0 && space < from) start = space + 1;
  if (isLow(text, start)) --start;
  if (isLow(text, end)) ++end;
  const head = start > 0 ? '… ' : '';
  const tail = end < text.length ? ' …' : '';
  // A line break is as long as the space in its place.
  const snippet = head + text.slice(start, end).replace(/\s/g, ' ') + tail;
  return { snippet, at: [head.length + from - start, head.length + to - start] };
}

function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text);
}

function isLow(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
