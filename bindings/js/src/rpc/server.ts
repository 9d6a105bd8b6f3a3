// The answering side of a port.
import { PunaError, toErrorData } from '../errors.js';
import { kMostUnread, kResumeAt, type ToClient, type ToServer } from './messages.js';
import type { Port } from './port.js';

export interface CallContext {
  signal: AbortSignal; // raised when the caller does not want the answer any more
  // Sends an event; the promise, where there is one, resolves when the reader has caught up.
  emit(event: unknown): void | Promise<void>;
}

export type Handler = (params: never, context: CallContext) => unknown;
export type Handlers = Record<string, Handler>;

interface Running {
  abort: AbortController;
  unread: number; // events that the reader has not told to have read
  caughtUp: Promise<void> | null; // while the reader is behind
  resume: () => void;
}

// Answers calls until the port is closed. Returns what cancels all that run.
export function serveCalls(port: Port, handlers: Handlers): () => void {
  const running = new Map<number, Running>();
  const send = (message: ToClient) => port.post(message);
  const answer = async (id: number, method: string, params: unknown) => {
    const call: Running = { abort: new AbortController(), unread: 0, caughtUp: null, resume: () => undefined };
    running.set(id, call);
    const emit = (event: unknown) => {
      if (call.abort.signal.aborted) return;
      send({ type: 'event', id, event });
      if (++call.unread >= kMostUnread) call.caughtUp ??= new Promise((resolve) => (call.resume = resolve));
      return call.caughtUp ?? undefined;
    };
    try {
      const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      if (!handler) throw new PunaError('internal', `There is no call "${method}".`);
      const result = await handler(params as never, { signal: call.abort.signal, emit });
      send({ type: 'done', id, result });
    } catch (error) {
      send({ type: 'fail', id, error: toErrorData(error) });
    } finally {
      running.delete(id);
      call.resume();
    }
  };
  port.listen((data) => {
    const message = data as ToServer;
    if (message.type === 'call') return void answer(message.id, message.method, message.params);
    const call = running.get(message.id);
    if (!call) return;
    if (message.type === 'cancel') call.abort.abort();
    else call.unread -= message.events;
    if (message.type === 'read' && call.unread > kResumeAt) return;
    call.resume();
    call.caughtUp = null;
  });
  return () => {
    for (const call of running.values()) {
      call.abort.abort();
      call.resume();
    }
  };
}
