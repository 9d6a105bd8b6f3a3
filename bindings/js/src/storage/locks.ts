// Web Locks: what one tab does at a time. A browser without them has no other tabs to fear but loses only time by it: SHA-256 is
// checked all the same.

export const kStoreLock = 'puna-store';
export const kRecordLock = 'puna-record';
export const kPrefixLock = 'puna-prefixes';

export const downloadLock = (key: string): string => `puna-download:${key}`;
export const blobLock = (digest: string): string => `puna-blob:${digest}`; // shared by those who have it open

// `waits` is called where somebody else has it, before it is waited for. Taking it is the question: two tabs that only asked, and took it
// after that, could both hear that it is free.
export async function withLock<T>(name: string, signal: AbortSignal | undefined, run: () => Promise<T>, waits?: () => void): Promise<T> {
  if (!navigator.locks) return run();
  if (waits) {
    signal?.throwIfAborted();
    // Such a request takes no signal.
    const done = (await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
      signal?.throwIfAborted();
      return lock && { value: await run() };
    })) as { value: T } | null;
    if (done) return done.value;
    waits();
  }
  const options: LockOptions = signal ? { signal } : {};
  return (await navigator.locks.request(name, options, run)) as T;
}

// All of them at once. Whoever asks for several does so in the same order, so that two never wait for each other.
export function withLocks<T>(names: readonly string[], signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
  const [first, ...rest] = names;
  return first === undefined ? run() : withLock(first, signal, () => withLocks(rest, signal, run));
}

// The lock is shared with others until the function that it gives is called.
export function holdShared(name: string): Promise<() => void> {
  if (!navigator.locks) return Promise.resolve(() => undefined);
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((release) => resolve(release));
    navigator.locks.request(name, { mode: 'shared' }, hold).catch(reject);
  });
}

// Copies of local files are not resumed; one whose tab is gone is only in the way.
export const copyKey = (): string => `copy-${crypto.randomUUID()}`;

export async function isLeftover(key: string): Promise<boolean> {
  if (!key.startsWith('copy-')) return false;
  if (!navigator.locks) return true;
  // Nobody else takes the lock of a copy, so that asking is in nobody's way.
  return await navigator.locks.request(downloadLock(key), { ifAvailable: true }, async (lock) => lock !== null);
}
