// A stream of an answer, from its request on: bytes to events, until it ends or is lost.
import { EngineError, type EngineEvent } from '../../types/engine.ts';
import { type Chunk, ChunkReader } from '../chunks.ts';
import { failure } from './connection.ts';
import { lost, streamFault } from './faults.ts';
import { Silence } from './silence.ts';
import { SseReader } from './sse.ts';

const ANSWER_MS = 10_000;

export interface StreamOptions {
  // The byte of the kept stream that the reply begins with, and whether that is inside of an event.
  from: number;
  skips?: boolean;
  signal: AbortSignal;
  // Whether silence is to be borne further, asked whenever it has become long before anything came: a model may be
  // loading. No answer within ANSWER_MS is one too: such a server does not live.
  patient?: () => Promise<boolean>;
}

// `ask` sends the request. Throws EngineError: `canResume` where the stream may go on from its last 'offset' event; and
// the reason of the signal once that is aborted.
export async function* readStream(
  ask: (signal: AbortSignal) => Promise<Response>,
  { from, skips = false, signal, patient }: StreamOptions,
): AsyncGenerator<EngineEvent> {
  const inner = new AbortController();
  const silent = lost('Nothing was heard of the server for 75 seconds.');
  let begun = false;
  let isStream = false;
  const lose = () => begun || inner.abort(silent);
  const silence = new Silence(() => {
    if (begun || !patient) return inner.abort(silent);
    const late = setTimeout(lose, ANSWER_MS);
    patient()
      .then((patiently) => patiently || lose(), lose)
      .finally(() => clearTimeout(late));
  });
  const abort = () => inner.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    const response = await ask(inner.signal);
    begun = true;
    silence.heard();
    if (!response.ok) throw await failure(response);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw new EngineError({ kind: 'engine', message: 'The server answered with something else than a stream.' });
    }
    isStream = true;
    yield* readBody(response.body ?? new ReadableStream({ start: (body) => body.close() }), from, skips, () =>
      silence.heard(),
    );
  } catch (error) {
    if (inner.signal.aborted) throw inner.signal.reason;
    throw error instanceof EngineError ? error : lost('The connection to the server was cut.', isStream);
  } finally {
    silence.end();
    signal.removeEventListener('abort', abort);
    // Ends the request where the reader has left.
    inner.abort();
  }
}

async function* readBody(
  body: ReadableStream<Uint8Array>,
  from: number,
  skips: boolean,
  heard: () => void,
): AsyncGenerator<EngineEvent> {
  const sse = new SseReader(from, skips);
  const chunks = new ChunkReader();
  const reader = body.getReader();
  let told = from;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw lost('The connection to the server was cut.', true);
    heard();
    for (const { data, end } of push(sse, value)) {
      if (data === '[DONE]') {
        yield chunks.done();
        return;
      }
      const chunk = parse(data);
      if (chunk.error) throw new EngineError(streamFault(chunk));
      yield* chunks.read(chunk);
      told = end;
      yield { type: 'offset', offset: end };
    }
    // Signs of life move it too.
    if (sse.offset > told) yield { type: 'offset', offset: (told = sse.offset) };
  }
}

function push(sse: SseReader, bytes: Uint8Array) {
  try {
    return sse.push(bytes);
  } catch (error) {
    throw new EngineError({ kind: 'engine', message: (error as RangeError).message });
  }
}

function parse(data: string): Chunk & { error?: unknown } {
  try {
    return JSON.parse(data) as Chunk & { error?: unknown };
  } catch {
    throw new EngineError({ kind: 'engine', message: 'An event of the stream is no JSON.' });
  }
}
