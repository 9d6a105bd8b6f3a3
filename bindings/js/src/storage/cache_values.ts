// Keys and values in the Cache API: each value is the body of a made-up address of this site.
import type { KeyValueStore } from './chunk_store.js';

const kCacheName = 'puna-blobs';
const kRoot = '/.puna/';

export class CacheValues implements KeyValueStore {
  private constructor(private readonly cache: Cache) {}

  static async open(): Promise<CacheValues> {
    return new CacheValues(await caches.open(kCacheName));
  }

  async get(key: string): Promise<Blob | null> {
    const response = await this.cache.match(address(key));
    return response ? response.blob() : null;
  }

  put(key: string, value: Blob): Promise<void> {
    return this.cache.put(address(key), new Response(value));
  }

  async delete(key: string): Promise<void> {
    await this.cache.delete(address(key));
  }

  async keys(prefix: string): Promise<string[]> {
    const start = address(prefix);
    const requests = await this.cache.keys();
    return requests.filter(({ url }) => url.startsWith(start)).map(({ url }) => prefix + decodeURI(url.slice(start.length)));
  }
}

function address(key: string): string {
  return self.location.origin + encodeURI(kRoot + key);
}
