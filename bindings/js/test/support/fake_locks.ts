// Web Locks as browsers have them, for one test: exclusive or shared, granted in the order of requests, never at once.
type Granted = (lock: object | null) => unknown;
interface Options {
  ifAvailable?: boolean;
  mode?: 'exclusive' | 'shared';
  signal?: AbortSignal;
}
interface Wish {
  shared: boolean;
  grant: () => void;
}

class FakeLocks {
  private readonly locks = new Map<string, { held: Wish[]; queue: Wish[] }>();

  async request(name: string, ...rest: [Granted] | [Options, Granted]): Promise<unknown> {
    const [{ ifAvailable, mode, signal }, granted] = rest.length === 1 ? [{} as Options, rest[0]] : rest;
    if (ifAvailable && signal) throw new DOMException('The signal and ifAvailable exclude each other.', 'NotSupportedError');
    signal?.throwIfAborted();
    await Promise.resolve();
    const lock = this.locks.get(name) ?? { held: [], queue: [] };
    this.locks.set(name, lock);
    const next = () => {
      for (let first = lock.queue[0]; first && lock.held.every(({ shared }) => shared && first!.shared); first = lock.queue[0]) {
        lock.held.push(first);
        lock.queue.shift();
        first.grant();
      }
    };
    const wish: Wish = { shared: mode === 'shared', grant: () => undefined };
    const turn = new Promise<void>((resolve, reject) => {
      wish.grant = resolve;
      signal?.addEventListener('abort', () => {
        lock.queue = lock.queue.filter((each) => each !== wish);
        reject(signal.reason);
      });
    });
    lock.queue.push(wish);
    next();
    if (ifAvailable && !lock.held.includes(wish)) {
      lock.queue = lock.queue.filter((each) => each !== wish);
      return granted(null);
    }
    await turn;
    try {
      return await granted({ name });
    } finally {
      lock.held = lock.held.filter((each) => each !== wish);
      next();
    }
  }
}

// Until the function that it gives is called.
export function installFakeLocks(): () => void {
  Object.defineProperty(globalThis.navigator, 'locks', { value: new FakeLocks(), configurable: true });
  return () => void delete (globalThis.navigator as { locks?: unknown }).locks;
}
