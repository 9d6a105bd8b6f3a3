// One tab of a site at a time: Web Locks where there are (https, localhost), else leases that tabs claim from each
// other by messages, as on plain http from another host.

export interface Lease {
  release(): void;
}

export interface Leases {
  // Of a name that no other tab can know yet: at once.
  hold(name: string): Lease;
  // Null: another tab has it.
  tryTake(name: string): Promise<Lease | null>;
  // Waits until it is free. Rejects with the signal's reason.
  take(name: string, signal: AbortSignal): Promise<Lease>;
}

export class LockLeases implements Leases {
  constructor(private readonly locks: LockManager) {}

  hold(name: string): Lease {
    let end = () => {};
    const released = new Promise<void>((resolve) => (end = resolve));
    void this.locks.request(name, () => released);
    return { release: end };
  }

  tryTake(name: string): Promise<Lease | null> {
    return this.#request(name, { ifAvailable: true });
  }

  take(name: string, signal: AbortSignal): Promise<Lease> {
    return this.#request(name, { signal }) as Promise<Lease>;
  }

  #request(name: string, options: LockOptions): Promise<Lease | null> {
    return new Promise((resolve, reject) => {
      this.locks
        .request(name, options, (lock) => {
          if (!lock) return resolve(null);
          return new Promise<void>((release) => resolve({ release }));
        })
        .catch(reject);
    });
  }
}

// claim: who has it, objects. held: an objection, to one. released: it is free.
interface LeaseMessage {
  type: 'claim' | 'held' | 'released';
  name: string;
  from: string;
  to?: string;
}

export type LeaseChannel = Pick<BroadcastChannel, 'postMessage' | 'addEventListener' | 'removeEventListener'>;

// Other tabs have so long to object. A tab in the background runs its timers once a second, but hears messages at once.
const OBJECTION_MS = 250;
// A tab that ended without a word is noticed by the next claim, so often.
const AGAIN_MS = 3_000;

export class MessageLeases implements Leases {
  readonly #held = new Set<string>();
  readonly #claims = new Set<string>();
  readonly #objected = new Set<string>();
  readonly #free = new Set<() => void>();

  // `self`: a name that no other tab has.
  constructor(
    private readonly channel: LeaseChannel,
    private readonly self: string,
  ) {
    channel.addEventListener('message', ((event: MessageEvent<LeaseMessage>) =>
      this.#hear(event.data)) as EventListener);
  }

  hold(name: string): Lease {
    this.#held.add(name);
    return {
      release: () => {
        if (this.#held.delete(name)) this.#say('released', name);
      },
    };
  }

  async tryTake(name: string): Promise<Lease | null> {
    if (this.#held.has(name) || this.#claims.has(name)) return null;
    this.#claims.add(name);
    this.#objected.delete(name);
    this.#say('claim', name);
    await new Promise((resolve) => setTimeout(resolve, OBJECTION_MS));
    this.#claims.delete(name);
    return this.#objected.delete(name) ? null : this.hold(name);
  }

  async take(name: string, signal: AbortSignal): Promise<Lease> {
    for (;;) {
      signal.throwIfAborted();
      const lease = await this.tryTake(name);
      if (lease) return lease;
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          this.#free.delete(end);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const timer = setTimeout(end, AGAIN_MS);
        this.#free.add(end);
        signal.addEventListener('abort', end);
      });
    }
  }

  #say(type: LeaseMessage['type'], name: string, to?: string): void {
    this.channel.postMessage({ type, name, from: this.self, ...(to !== undefined && { to }) } satisfies LeaseMessage);
  }

  #hear({ type, name, from, to }: LeaseMessage): void {
    if (type === 'held' && to === this.self) this.#objected.add(name);
    if (type === 'released') for (const end of [...this.#free]) end();
    if (type !== 'claim') return;
    // Of two that claim at the same time the first by name has it.
    if (this.#held.has(name) || (this.#claims.has(name) && this.self < from)) this.#say('held', name, from);
    else if (this.#claims.has(name)) this.#objected.add(name);
  }
}

export function openLeases(self: string): Leases {
  if (globalThis.navigator?.locks) return new LockLeases(navigator.locks);
  return new MessageLeases(new BroadcastChannel('puna-leases'), self);
}
