// Streams that the server keeps (docs/serving.md): read on from a byte, asked for, stopped.
import { EngineError, type EngineEvent } from '../../types/engine.ts';
import { json, ok, send, type ServerAddress } from './connection.ts';
import { readStream } from './stream.ts';

export interface KeptStream {
  conversation_id: string;
  is_done: boolean;
  total_bytes: number;
  // The first byte that is still there; servers that do not tell keep all.
  first_byte?: number;
}

// A server takes so many at once.
const MAX_LOOKUPS = 100;

const path = (streamId: string, from?: number) =>
  `v1/stream?conv_id=${encodeURIComponent(streamId)}${from === undefined ? '' : `&from=${from}`}`;

export async function lookup(server: ServerAddress, ids: string[], signal?: AbortSignal): Promise<KeptStream[]> {
  const found: KeptStream[] = [];
  for (let i = 0; i < ids.length; i += MAX_LOOKUPS) {
    const body = { conversation_ids: ids.slice(i, i + MAX_LOOKUPS) };
    found.push(
      ...(await json<KeptStream[]>(server, 'v1/streams/lookup', { method: 'POST', body, signal: signal ?? null })),
    );
  }
  return found;
}

const gone = new EngineError({ kind: 'gone', message: 'The server no longer keeps this answer.' });

// Goes on from byte `offset`. Where the server has dropped what comes next, a 'gap' is told and it goes on with what is
// left. Throws as readStream; EngineError 'gone' where there is nothing to go on with.
export async function* resumeStream(
  server: ServerAddress,
  streamId: string,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  let from = offset;
  for (let gaps = 0; ; ++gaps) {
    let heard = false;
    try {
      for await (const event of readFrom(server, streamId, from, from > offset, signal)) {
        if (!heard && from > offset) yield { type: 'gap' };
        heard = true;
        yield event;
      }
      return;
    } catch (error) {
      if (heard || !(error instanceof EngineError) || error.fault.kind !== 'refused') throw error;
      // Another stream than ours, or one that runs away faster than it is read.
      const [stream] = await lookup(server, [streamId], signal);
      if (!stream || gaps > 2 || (stream.first_byte ?? 0) <= from) throw gone;
      from = stream.first_byte ?? 0;
    }
  }
}

async function* readFrom(
  server: ServerAddress,
  streamId: string,
  from: number,
  skips: boolean,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  let last = from;
  try {
    const ask = (inner: AbortSignal) => send(server, path(streamId, from), { signal: inner });
    for await (const event of readStream(ask, { from, skips, signal })) {
      if (event.type === 'offset') last = event.offset;
      yield event;
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    if (error.fault.kind === 'model') throw gone;
    // A server that is starting, or draining before it starts anew, may have it later, or say that it has not.
    if (error.fault.kind === 'busy') throw new EngineError(error.fault, true);
    // A stream that the server itself has cut gives its end again and again.
    if (error.canResume && last === from && (await isOver(server, streamId, from))) throw gone;
    throw error;
  }
}

async function isOver(server: ServerAddress, streamId: string, offset: number): Promise<boolean> {
  try {
    const [stream] = await lookup(server, [streamId]);
    return stream?.is_done === true && stream.total_bytes <= offset;
  } catch {
    return false;
  }
}

// Ends it, wherever it is; that there is none is as well.
export async function stopStream(server: ServerAddress, streamId: string): Promise<void> {
  await ok(server, path(streamId), { method: 'DELETE', keepalive: true });
}
