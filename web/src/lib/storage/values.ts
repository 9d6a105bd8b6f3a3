// Small values under a name (measured rates, permissions): each of JSON's kinds.
import { storage } from './storage.ts';

export async function getValue<T>(key: string): Promise<T | undefined> {
  return (await storage.row('values', key))?.value as T | undefined;
}

export function putValue(key: string, value: unknown): Promise<void> {
  return storage.commit([{ table: 'values', put: [{ key, value }] }]);
}

// Calls back when another tab, or this one, puts a value there. Gives the function that ends it.
export function watchValue<T>(key: string, changed: (value: T) => void): () => void {
  return storage.listen((news) => {
    if ('reload' in news) {
      void getValue<T>(key).then((value) => value !== undefined && changed(value));
      return;
    }
    for (const change of news.changes) {
      if (change.table !== 'values' || !('put' in change)) continue;
      for (const row of change.put) if (row.key === key) changed(row.value as T);
    }
  });
}
