// What a server says went wrong, as the kinds of faults that the page tells apart.
import type { Fault, FaultKind } from '../../types/conversation.ts';
import { EngineError } from '../../types/engine.ts';

interface ErrorBody {
  code?: unknown;
  message?: unknown;
  type?: unknown;
  n_prompt_tokens?: unknown;
  n_ctx?: unknown;
}

// Statuses of what stands between page and server while the server itself is away.
const GATEWAY = new Set([502, 504, 520, 521, 522, 523, 524]);

// A 403 is about the key only where the server says so: it is also how a foreign Host or Origin is turned away.
const KINDS: readonly (readonly [test: (status: number, type: string) => boolean, kind: FaultKind])[] = [
  [(_, type) => type === 'exceed_context_size_error', 'context'],
  [(status, type) => status === 401 || type === 'authentication_error', 'key'],
  [(status) => GATEWAY.has(status), 'network'],
  [(status) => status === 429 || status === 503, 'busy'],
  [(status) => status === 404, 'model'],
  [(status) => (status >= 400 && status < 500) || status === 501, 'refused'],
];

// `status`: of the reply, or of the error itself in the middle of a stream. `body`: its JSON, or undefined where it has
// none.
export function faultOf(status: number, body: unknown): Fault {
  const error = (body as { error?: unknown } | undefined)?.error;
  const inner: ErrorBody = typeof error === 'object' && error !== null ? error : {};
  const type = typeof inner.type === 'string' ? inner.type : '';
  const kind = KINDS.find(([test]) => test(status, type))?.[1] ?? 'engine';
  const said = typeof error === 'string' ? error : inner.message;
  const message = typeof said === 'string' && said !== '' ? said : `The server answered with status ${status}.`;
  const fault: Fault = { kind, message };
  if (typeof inner.n_prompt_tokens === 'number') fault.promptTokens = inner.n_prompt_tokens;
  if (typeof inner.n_ctx === 'number') fault.contextTokens = inner.n_ctx;
  return fault;
}

// An error in the middle of a stream, where the status has long been sent.
export function streamFault(body: unknown): Fault {
  const code = (body as { error?: ErrorBody }).error?.code;
  return faultOf(typeof code === 'number' ? code : 500, body);
}

export function lost(why: string, hadBegun = false): EngineError {
  return new EngineError({ kind: 'network', message: why }, true, hadBegun);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
