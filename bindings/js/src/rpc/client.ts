// The calling side of a port: calls with events and cancelling, and calls read as a stream.
import { fromErrorData, PunaError, throwIfAborted, toPunaError } from '../errors.js';
import { kReadStep, type ToClient, type ToServer } from './messages.js';
import type { Port } from './port.js';

export interface CallOptions {
  signal?: AbortSignal;
  onEvent?: (event: unknown) => void;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: PunaError): void;
  onEvent: ((event: unknown) => void) | undefined;
  streamed: boolean; // its events are read when the loop takes them, not when they come
  untold: number; // events read and not told to the sender yet
}

export class RpcClient {
  // Of all clients together: to one that takes the place of another at the same port, late answers to the other mean nothing.
  private static lastId = 0;
  private readonly pending = new Map<number, Pending>();
  private closed: PunaError | null = null;

  constructor(private readonly port: Port) {
    port.listen((message) => this.receive(message as ToClient));
  }

  call<T>(method: string, params?: unknown, options: CallOptions = {}): Promise<T> {
    return this.start<T>(method, params, options).result;
  }

  // Leaving the loop cancels the call. A reader that is behind pauses the sender.
  async *stream<T>(method: string, params?: unknown, { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<T, void, void> {
    const queue: T[] = [];
    const stop = new AbortController();
    let wake: () => void = () => undefined;
    let outcome: { error: PunaError | null } | null = null;
    const abort = () => stop.abort();
    throwIfAborted(signal);
    signal?.addEventListener('abort', abort);
    const onEvent = (event: unknown) => {
      queue.push(event as T);
      wake();
    };
    const { id, result } = this.start(method, params, { signal: stop.signal, onEvent }, true);
    const settle = (error: PunaError | null) => {
      outcome = { error };
      wake();
    };
    result.then(
      () => settle(null),
      (error) => settle(toPunaError(error)),
    );
    try {
      for (;;) {
        throwIfAborted(signal); // what had been queued is not wanted any more
        const event = queue.shift();
        if (event !== undefined) {
          this.read(id);
          yield event;
        } else if (outcome) {
          const { error } = outcome as { error: PunaError | null };
          if (error) throw error;
          return;
        } else {
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    } finally {
      signal?.removeEventListener('abort', abort);
      stop.abort(); // nothing, when the call has ended
    }
  }

  // Fails all calls, now and from now on; those that run are cancelled where they are answered.
  close(reason = new PunaError('closed', 'The engine was closed.')): void {
    this.closed ??= reason;
    for (const [id, { reject }] of this.pending) {
      this.send({ type: 'cancel', id });
      reject(this.closed);
    }
    this.pending.clear();
    this.port.close();
  }

  private start<T>(method: string, params: unknown, { signal, onEvent }: CallOptions, streamed = false): { id: number; result: Promise<T> } {
    const id = ++RpcClient.lastId;
    const result = new Promise<T>((resolve, reject) => {
      if (this.closed) throw this.closed;
      throwIfAborted(signal);
      const cancel = () => {
        if (!this.pending.delete(id)) return;
        this.send({ type: 'cancel', id });
        reject(new PunaError('aborted', 'The call was stopped by its signal.'));
      };
      signal?.addEventListener('abort', cancel);
      const settled = () => signal?.removeEventListener('abort', cancel);
      this.pending.set(id, {
        resolve: (value) => (settled(), resolve(value as T)),
        reject: (error) => (settled(), reject(error)),
        onEvent,
        streamed,
        untold: 0,
      });
      try {
        this.send({ type: 'call', id, method, params });
      } catch (error) {
        this.pending.delete(id);
        settled();
        throw new PunaError('invalid_argument', `The request cannot be sent to the worker: ${(error as Error).message}`);
      }
    });
    return { id, result };
  }

  // One more event of a call has been read.
  private read(id: number): void {
    const call = this.pending.get(id);
    if (!call || ++call.untold < kReadStep) return; // a call that has ended waits for nobody
    this.send({ type: 'read', id, events: call.untold });
    call.untold = 0;
  }

  private send(message: ToServer): void {
    this.port.post(message);
  }

  private receive(message: ToClient): void {
    const call = this.pending.get(message.id);
    if (!call) return; // cancelled
    if (message.type === 'event') {
      if (!call.streamed) this.read(message.id);
      return call.onEvent?.(message.event);
    }
    this.pending.delete(message.id);
    if (message.type === 'done') call.resolve(message.result);
    else call.reject(fromErrorData(message.error));
  }
}
