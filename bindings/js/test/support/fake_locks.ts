// Web Locks as browsers have them, for one test: exclusive, granted in the order of requests, never at once.
type Granted = (lock: object | null) => unknown;

class FakeLocks {
  private readonly held = new Set<string>();
  private readonly queues = new Map<string, (() => void)[]>();

  async request(name: string, options: { ifAvailable?: boolean; signal?: AbortSignal }, granted: Granted): Promise<unknown> {
    const { ifAvailable, signal } = options;
    if (ifAvailable && signal) throw new DOMException('The signal and ifAvailable exclude each other.', 'NotSupportedError');
    signal?.throwIfAborted();
    await Promise.resolve();
    if (ifAvailable && this.held.has(name)) return granted(null);
    if (this.held.has(name)) await this.turn(name, signal);
    this.held.add(name);
    try {
      return await granted({ name });
    } finally {
      const next = this.queues.get(name)?.shift();
      if (next) next();
      else this.held.delete(name);
    }
  }

  private turn(name: string, signal: AbortSignal | undefined): Promise<void> {
    const queue = this.queues.get(name) ?? [];
    this.queues.set(name, queue);
    return new Promise((resolve, reject) => {
      queue.push(resolve);
      signal?.addEventListener('abort', () => {
        const at = queue.indexOf(resolve);
        if (at >= 0) queue.splice(at, 1);
        reject(signal.reason);
      });
    });
  }
}

// Until the function that it gives is called.
export function installFakeLocks(): () => void {
  Object.defineProperty(globalThis.navigator, 'locks', { value: new FakeLocks(), configurable: true });
  return () => void delete (globalThis.navigator as { locks?: unknown }).locks;
}
