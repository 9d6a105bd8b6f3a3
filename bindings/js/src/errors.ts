// The one error class of the package. Errors are data that cross the worker border: a code and a message for the reader.

// What kind of thing went wrong; README.md says what to do for each.
export type ErrorCode =
  | 'invalid_argument' // a value given by the caller is outside what the call accepts
  | 'not_found' // no such model, file or address
  | 'http' // the server refused (401, 403 ...)
  | 'network' // the server did not answer, or not as it should, again and again
  | 'corrupt' // bytes that do not follow their format or have another SHA-256
  | 'changed' // the file became another one while it was downloaded
  | 'quota' // the browser gives this site less storage than the model needs
  | 'storage' // the browser refused to read or write its storage
  | 'in_use' // the model is open in some tab
  | 'unsupported' // this browser or device cannot do it
  | 'out_of_memory' // weights, cache or scratch do not fit
  | 'device' // the GPU or its driver refused an operation
  | 'gpu_lost' // the GPU went away and could not be had again
  | 'aborted' // the caller asked to stop
  | 'closed' // the engine was closed
  | 'internal'; // a bug in Puna

export interface ErrorData {
  code: ErrorCode;
  message: string;
}

export class PunaError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    // The name that callers of fetch know.
    this.name = code === 'aborted' ? 'AbortError' : 'PunaError';
  }
}

const storageNames = new Set(['NotReadableError', 'InvalidStateError', 'UnknownError', 'SecurityError', 'NotFoundError']);

// Any thrown value as a PunaError; `doing` says what was tried, as "While ...".
export function toPunaError(thrown: unknown, doing = ''): PunaError {
  if (thrown instanceof PunaError) return thrown;
  const name = (thrown as { name?: string } | null)?.name ?? '';
  const text = (thrown as { message?: string } | null)?.message ?? String(thrown);
  const message = doing ? `${text} - While ${doing}` : text;
  if (name === 'AbortError') return new PunaError('aborted', 'The call was stopped by its signal.', { cause: thrown });
  if (name === 'QuotaExceededError') {
    return new PunaError('quota', `The browser's storage for this site is full; delete models or free disk space. - ${message}`, { cause: thrown });
  }
  if (name === 'NoModificationAllowedError') return new PunaError('in_use', `The file is open in another tab. - ${message}`, { cause: thrown });
  if (storageNames.has(name)) return new PunaError('storage', message, { cause: thrown });
  return new PunaError('internal', message, { cause: thrown });
}

export function toErrorData(thrown: unknown): ErrorData {
  const { code, message } = toPunaError(thrown);
  return { code, message };
}

export function fromErrorData(data: ErrorData): PunaError {
  return new PunaError(data.code, data.message);
}

// Throws when the signal has been raised. Only `aborted` comes out, whatever the reason given to abort().
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new PunaError('aborted', 'The call was stopped by its signal.');
}

// The promise, or a rejection with `aborted` as soon as the signal is raised. What the promise does then is dropped.
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(new PunaError('aborted', 'The call was stopped by its signal.'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
