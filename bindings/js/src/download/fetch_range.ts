// One HTTP request for a range of a file, or for all of it, and what its answer means.
import { PunaError } from '../errors.js';
import { type FileFacts, fileFacts, hasValidator, ifRange, parseContentRange, parseRetryAfter } from './headers.js';
import { PassingFailure } from './retry.js';

export interface RangeRequest {
  url: string;
  start: number;
  end: number | null; // inclusive; null: the whole file, without a Range header
  known: FileFacts | null; // of the state of the file that the range must be of
}

// The body holds bytes [start, end) of a file with these facts; `end` is null where the server does not say.
export interface RangeAnswer {
  facts: FileFacts;
  ranges: boolean; // false: this server gives whole files only, or its ranges cannot be trusted
  start: number;
  end: number | null;
  body: ReadableStream<Uint8Array>;
}

// The server's ranges cannot be used: the file is to be asked for as a whole.
export class NoRanges extends Error {}

// The range does not exist: the file has become shorter.
export class RangeGone extends Error {}

export async function fetchRange(request: RangeRequest, signal: AbortSignal): Promise<RangeAnswer> {
  const response = await send(request, signal);
  const asked = request.end !== null;
  if (response.status === 206 && asked) return rangeAnswer(request, response);
  if (response.status === 200) return wholeAnswer(response);
  await response.body?.cancel();
  if (response.status === 416 && asked) throw new RangeGone();
  throw refusal(request.url, response);
}

async function send(request: RangeRequest, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (request.end !== null) {
    headers.Range = `bytes=${request.start}-${request.end}`;
    // To other origins If-Range would need a preflight that hubs refuse; there the answer's validators are compared instead.
    const validator = request.known && new URL(request.url).origin === self.location.origin ? ifRange(request.known) : null;
    if (validator !== null) headers['If-Range'] = validator;
  }
  try {
    return await fetch(request.url, { headers, signal, cache: 'no-store' });
  } catch (error) {
    if (signal.aborted) throw error;
    if (!navigator.onLine) throw new PunaError('network', `The browser is offline and ${request.url} is not stored; connect and try again.`);
    throw new PassingFailure(`no answer: ${(error as Error).message}`);
  }
}

async function rangeAnswer(request: RangeRequest, response: Response): Promise<RangeAnswer> {
  const range = parseContentRange(response.headers.get('Content-Range'));
  const facts = fileFacts(response.headers, range);
  // A hidden or different Content-Range says nothing sure about which bytes these are.
  const end = Math.min(request.end!, (range?.total ?? 0) - 1);
  if (!range || range.total === null || range.start !== request.start || range.end !== end || !response.body) {
    await response.body?.cancel();
    throw new NoRanges();
  }
  return { facts, ranges: true, start: range.start, end: range.end + 1, body: response.body };
}

function wholeAnswer(response: Response): RangeAnswer {
  const facts = fileFacts(response.headers, null);
  return { facts, ranges: false, start: 0, end: facts.size, body: response.body ?? new Blob([]).stream() };
}

function refusal(url: string, response: Response): Error {
  const { status } = response;
  const retryAfter = parseRetryAfter(response.headers.get('Retry-After'), Date.now());
  if (status === 408 || status === 425 || status === 429 || status >= 500) return new PassingFailure(`status ${status}`, status === 429 || status === 503, retryAfter);
  if (status === 404 || status === 410) return new PunaError('not_found', `There is no file at ${url} (status ${status}); check the address.`);
  if (status === 401 || status === 403) {
    return new PunaError('http', `The server does not give ${url} to this page (status ${status}); it may need a login, or a licence to be accepted.`);
  }
  return new PunaError('http', `The server answered ${url} with status ${status}, which is no file.`);
}

// Ranges of a file without validators may be of different files; only a digest known beforehand makes up for that.
export const rangesCanBeJoined = (facts: FileFacts, digestKnown: boolean): boolean => digestKnown || hasValidator(facts);
