import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LeaseChannel, MessageLeases } from './lease.ts';

// Channels of tabs that hear each other, as a BroadcastChannel: not themselves, and later.
function tabs(count: number): LeaseChannel[] {
  const listeners: ((event: { data: unknown }) => void)[] = [];
  return Array.from({ length: count }, (_, self) => ({
    postMessage: (data: unknown) =>
      listeners.forEach((listener, i) => i !== self && setTimeout(() => listener({ data: structuredClone(data) }), 5)),
    addEventListener: (_: string, listener: unknown) =>
      (listeners[self] = listener as (event: { data: unknown }) => void),
    removeEventListener: () => undefined,
  })) as unknown as LeaseChannel[];
}

describe('MessageLeases', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const make = (count: number) => tabs(count).map((channel, i) => new MessageLeases(channel, `tab${i}`));

  it('gives a name to one tab, and to the next when it is free', async () => {
    const [a, b] = make(2);
    const first = a!.tryTake('x');
    await vi.advanceTimersByTimeAsync(300);
    const lease = await first;
    expect(lease).not.toBeNull();
    const second = b!.tryTake('x');
    const other = b!.tryTake('y');
    await vi.advanceTimersByTimeAsync(300);
    expect(await second).toBeNull();
    expect(await other).not.toBeNull();

    let taken = false;
    void b!.take('x', new AbortController().signal).then(() => (taken = true));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(taken).toBe(false);
    lease!.release();
    await vi.advanceTimersByTimeAsync(300);
    expect(taken).toBe(true);
  });

  it('gives it to exactly one of many that ask at once', async () => {
    const all = make(5).map((leases) => leases.tryTake('x'));
    await vi.advanceTimersByTimeAsync(300);
    expect((await Promise.all(all)).filter((lease) => lease !== null)).toHaveLength(1);
  });

  it('is held at once where nobody else knows the name', async () => {
    const [a, b] = make(2);
    const lease = a!.hold('x');
    const second = b!.tryTake('x');
    await vi.advanceTimersByTimeAsync(300);
    expect(await second).toBeNull();
    lease.release();
    const third = b!.tryTake('x');
    await vi.advanceTimersByTimeAsync(300);
    expect(await third).not.toBeNull();
  });

  it('is taken over from a tab that ended without a word', async () => {
    const channels = tabs(2);
    const a = new MessageLeases(channels[0]!, 'a');
    const b = new MessageLeases(channels[1]!, 'b');
    const lease = a.tryTake('x');
    await vi.advanceTimersByTimeAsync(300);
    expect(await lease).not.toBeNull();
    let taken = false;
    void b.take('x', new AbortController().signal).then(() => (taken = true));
    await vi.advanceTimersByTimeAsync(1000);
    expect(taken).toBe(false);
    // It answers no more.
    (channels[0]!.addEventListener as (name: string, listener: () => void) => void)('message', () => undefined);
    await vi.advanceTimersByTimeAsync(5000);
    expect(taken).toBe(true);
  });

  it('stops waiting with its signal', async () => {
    const [a, b] = make(2);
    a!.hold('x');
    const stop = new AbortController();
    const waiting = b!.take('x', stop.signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1000);
    stop.abort(new Error('enough'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waiting).toEqual(new Error('enough'));
  });
});
