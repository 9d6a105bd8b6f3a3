// Small values under a name (measured rates, permissions): each of JSON's kinds.
import { storage } from './storage.ts';

export async function getValue<T>(key: string): Promise<T | undefined> {
  return (await storage.row('values', key))?.value as T | undefined;
}

export function putValue(key: string, value: unknown): Promise<void> {
  return storage.commit([{ table: 'values', put: [{ key, value }] }]);
}
