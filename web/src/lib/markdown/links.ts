// Which addresses of a model's text may be followed.
const allowed = new Set(['http:', 'https:', 'mailto:']);

export interface Target {
  href: string;
  // Where it really leads, to stand beside a text that says otherwise.
  host: string;
}

export function target(href: string): Target | undefined {
  // Control characters and spaces are dropped by browsers before they read the scheme, so they must not hide one here.
  const trimmed = href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '');
  if (!/^[a-z][a-z0-9+.-]*:/i.test(trimmed)) return undefined;
  let url: URL;
  try {
    url = new URL(trimmed);
  } catch {
    return undefined;
  }
  if (!allowed.has(url.protocol)) return undefined;
  // A name before the host (https://bank.example@evil.example) only serves to mislead.
  url.username = '';
  url.password = '';
  return { href: url.href, host: url.protocol === 'mailto:' ? decode(url.pathname) : url.host };
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

// Whether a link's text already names its host: as a word, or as the host of an address. A part of another host, or of an
// address behind its host, names nothing.
export function namesHost(text: string, host: string): boolean {
  const named = bare(host);
  return text.split(/\s+/).some((word) => bare(word) === named || bare(hostOf(word)) === named);
}

// https://reader@www.a.example:80/path -> www.a.example:80
const hostOf = (word: string) =>
  word
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
    .split(/[/?#\\]/)[0]!
    .split('@')
    .at(-1)!;

// Without what surrounds a word in a sentence, and without the www. that says nothing.
const bare = (word: string) =>
  word
    .toLowerCase()
    .replace(/^[^\p{L}\p{N}[]+|[^\p{L}\p{N}\]]+$/gu, '')
    .replace(/^www\./, '');
