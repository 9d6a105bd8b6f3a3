// What HTTP headers say about a file and its ranges. Source: RFC 9110, sections 8.8, 10.2.3, 13.1.5 and 14.

export interface ContentRange {
  start: number;
  end: number; // inclusive
  total: number | null;
}

// "bytes 0-99/1000" or "bytes 0-99/*"; null for anything else.
export function parseContentRange(text: string | null): ContentRange | null {
  const match = /^\s*bytes\s+(\d+)-(\d+)\/(\d+|\*)\s*$/i.exec(text ?? '');
  if (!match) return null;
  const start = Number(match[1]);
  const end = Number(match[2]);
  const total = match[3] === '*' ? null : Number(match[3]);
  if (end < start || (total !== null && end >= total)) return null;
  return { start, end, total };
}

// What tells one state of a file from another.
export interface FileFacts {
  size: number | null;
  etag: string | null;
  lastModified: string | null;
}

// The facts of a 200 (`range` null) or 206 response. Content-Length counts bytes as sent, so it says nothing about encoded bodies.
export function fileFacts(headers: Headers, range: ContentRange | null): FileFacts {
  const length = headers.get('Content-Length');
  const encoded = (headers.get('Content-Encoding') ?? 'identity') !== 'identity';
  const whole = length !== null && !encoded && /^\d+$/.test(length) ? Number(length) : null;
  return { size: range ? range.total : whole, etag: headers.get('ETag'), lastModified: headers.get('Last-Modified') };
}

// Whether both are the same state of the file. Where neither has a validator, only a digest known beforehand can tell in the end.
export function sameFile(a: FileFacts, b: FileFacts, digestKnown: boolean): boolean {
  if (a.size !== null && b.size !== null && a.size !== b.size) return false;
  if (a.etag !== null && b.etag !== null) return a.etag === b.etag;
  if (a.lastModified !== null && b.lastModified !== null) return a.lastModified === b.lastModified;
  return digestKnown;
}

export const hasValidator = (facts: FileFacts): boolean => facts.etag !== null || facts.lastModified !== null;

// The value of If-Range: a strong entity tag, else a date; null where there is neither.
export function ifRange(facts: FileFacts): string | null {
  if (facts.etag !== null && !facts.etag.startsWith('W/')) return facts.etag;
  return facts.lastModified;
}

// Milliseconds that Retry-After asks for, or null. It is a number of seconds or a date.
export function parseRetryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
