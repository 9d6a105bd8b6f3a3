// The files of the pages in scope, for opening them without a network. The network comes first, so a page is never older than it
// has to be.

const kCacheName = 'puna-pages';
const kMaxBytes = 64 << 20;
const kNetworkMs = 5000; // how long a page waits for a network that does not answer

export function isPageFile(request: Request): boolean {
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin || request.headers.has('Range')) return false;
  return request.destination !== '' || pathname.endsWith('.wasm') || request.mode === 'navigate';
}

export async function fromNetworkOrCache(request: Request): Promise<Response> {
  const cache = await caches.open(kCacheName);
  try {
    const response = await withLimit(fetch(request), async () => (await cache.match(request, { ignoreSearch: request.mode === 'navigate' })) !== undefined);
    if (isWorthKeeping(response)) await cache.put(request, response.clone()).catch(() => undefined); // full storage is no reason to fail
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: request.mode === 'navigate' });
    if (kept) return kept;
    throw error;
  }
}

// Fetches and keeps the addresses; those that cannot be had are passed over.
export async function keep(urls: readonly string[]): Promise<void> {
  const cache = await caches.open(kCacheName);
  await Promise.all(
    urls.map(async (url) => {
      const response = await fetch(url).catch(() => null);
      if (response && isWorthKeeping(response)) await cache.put(url, response).catch(() => undefined);
    }),
  );
}

function isWorthKeeping(response: Response): boolean {
  return response.status === 200 && response.type === 'basic' && Number(response.headers.get('Content-Length') ?? 0) <= kMaxBytes;
}

// The response, or a rejection when it takes long and there is something else to give.
async function withLimit(response: Promise<Response>, hasOther: () => Promise<boolean>): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => void hasOther().then((other) => other && reject(new Error('The network does not answer.'))), kNetworkMs);
  });
  try {
    return await Promise.race([response, limit]);
  } finally {
    clearTimeout(timer);
    response.catch(() => undefined);
  }
}
