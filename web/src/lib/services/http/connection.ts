// Requests to the server: its address, its key, and replies that are errors.
import { EngineError } from '../../types/engine.ts';
import { faultOf, isAbort, lost } from './faults.ts';

export interface ServerAddress {
  // Ends with '/'; './' is where the page came from.
  base: string;
  key: () => string | undefined;
  fetch: typeof fetch;
}

export interface Ask {
  method?: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  // Sent as JSON; a form as it is.
  body?: unknown;
  headers?: Record<string, string>;
  // null: none.
  signal?: AbortSignal | null;
  // Goes on while the page is left.
  keepalive?: boolean;
}

// The reply, whatever its status. Throws EngineError (network, can be taken up again) where there is none, and the
// signal's reason.
export async function send(server: ServerAddress, path: string, ask: Ask = {}): Promise<Response> {
  const headers: Record<string, string> = { ...ask.headers };
  const key = server.key();
  if (key) headers['Authorization'] = `Bearer ${key}`;
  const init: RequestInit = { method: ask.method ?? 'GET', headers, signal: ask.signal ?? null, cache: 'no-store' };
  if (ask.body instanceof FormData) {
    init.body = ask.body;
  } else if (ask.body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(ask.body);
  }
  if (ask.keepalive) init.keepalive = true;
  const { fetch } = server;
  try {
    return await fetch(server.base + path, init);
  } catch (error) {
    if (ask.signal?.aborted) throw ask.signal.reason;
    if (isAbort(error)) throw error;
    throw lost('The server does not answer.');
  }
}

// The error that a reply is. A body that is no JSON, as of a proxy, tells nothing.
export async function failure(response: Response): Promise<EngineError> {
  const body: unknown = await response.json().catch(() => undefined);
  const fault = faultOf(response.status, body);
  return new EngineError(fault, fault.kind === 'network');
}

// The reply, which went well. Throws EngineError.
export async function ok(server: ServerAddress, path: string, ask: Ask = {}): Promise<Response> {
  const response = await send(server, path, ask);
  if (!response.ok) throw await failure(response);
  return response;
}

// What answers is no server of models.
export class NoServer extends EngineError {
  constructor() {
    super({ kind: 'network', message: 'What answers at this address is no server of models.' });
  }
}

// Its JSON. A page in the place of JSON, as static hosts give for any address, is as good as no server.
export async function json<T>(server: ServerAddress, path: string, ask: Ask = {}): Promise<T> {
  const response = await ok(server, path, ask);
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (ask.signal?.aborted) throw ask.signal.reason;
    if (error instanceof SyntaxError) throw new NoServer();
    throw lost('The server went away in the middle of an answer.');
  }
}
