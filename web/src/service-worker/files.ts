// Which requests the service worker answers, and how.

export interface Files {
  // Paths, relative to the page or with a / before them. Names of immutable files change with what is in them.
  immutable: readonly string[];
  assets: readonly string[];
}

// cache: a copy is as good as the file. file, page: the network first. pass: nothing of ours.
export type Answer = 'cache' | 'file' | 'page' | 'pass';

export interface Asked {
  method: string;
  url: string;
  navigates: boolean;
}

export function answerTo({ method, url, navigates }: Asked, root: string, { immutable, assets }: Files): Answer {
  const [address = ''] = url.split(/[?#]/);
  if (method !== 'GET' || !address.startsWith(root)) return 'pass';
  const path = address.slice(root.length);
  const isOne = (list: readonly string[]) => list.some((each) => each.replace(/^\//, '') === path);
  if (path === '' || path === 'index.html') return navigates ? 'page' : 'pass';
  if (isOne(immutable)) return 'cache';
  // The engine of the tab, and what PDFs need, are no part of the build's list: they are kept once they were used.
  return isOne(assets) || /^(puna|pdf)\//.test(path) ? 'file' : 'pass';
}

// Another for another build.
export function cacheName(immutable: readonly string[]): string {
  let hash = 0;
  for (const character of [...immutable].sort().join('\n'))
    hash = (Math.imul(hash, 31) + character.codePointAt(0)!) | 0;
  return `puna-web-${(hash >>> 0).toString(16)}`;
}
