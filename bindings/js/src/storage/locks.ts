// Web Locks: what one tab does at a time. A browser without them has no other tabs to fear but loses only time by it: SHA-256 is
// checked all the same.

export const kStoreLock = 'puna-store';
export const kRecordLock = 'puna-record';
export const kPrefixLock = 'puna-prefixes';

export const downloadLock = (key: string): string => `puna-download:${key}`;

export async function withLock<T>(name: string, signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
  if (!navigator.locks) return run();
  const options: LockOptions = signal ? { signal } : {};
  return (await navigator.locks.request(name, options, run)) as T;
}

// Whether somebody holds the lock at this moment.
export async function isLocked(name: string): Promise<boolean> {
  if (!navigator.locks) return false;
  return await navigator.locks.request(name, { ifAvailable: true }, async (lock) => lock === null);
}

// Copies of local files are not resumed; one whose tab is gone is only in the way.
export const copyKey = (): string => `copy-${crypto.randomUUID()}`;

export async function isLeftover(key: string): Promise<boolean> {
  return key.startsWith('copy-') && !(await isLocked(downloadLock(key)));
}
