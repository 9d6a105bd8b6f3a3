// An answer followed to its end over connections that break: a lost stream is taken up again where it was.
//
//   answer ──lost──> wait ──> resume ──┬── events: found, on to the end
//     ^                ^               ├── lost: wait, longer each time
//     │                └───────────────┘
//     └── gone, and nothing had come: the request never arrived, so it is sent again
import type { Fault } from '../types/conversation.ts';
import { EngineError, type AnswerRequest, type Engine, type EngineEvent } from '../types/engine.ts';

export type FollowEvent =
  | EngineEvent
  // The stream is lost and will be tried again; then it is there again.
  | { type: 'lost'; fault: Fault }
  | { type: 'found' };

// Waits so long before each try; behind the last one a stream that had begun is tried every LATER_MS.
export const DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000];
export const LATER_MS = 30_000;

export interface FollowOptions {
  engine: Pick<Engine, 'answer' | 'resume'>;
  streamId: string;
  // Makes what is asked. Where `offset` is given, it was asked before and is only asked again if it turns out not to
  // have arrived.
  request?: () => Promise<AnswerRequest>;
  // Goes on behind so many bytes.
  offset?: number;
  signal: AbortSignal;
  // Sleeps for so long, or less: the network is back, the tab is seen again, the reader wants it now.
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

// Ends behind 'done'. Throws EngineError where there is no going on ('gone': the server keeps it no longer), and the
// signal's reason.
export async function* follow(options: FollowOptions): AsyncGenerator<FollowEvent> {
  const { engine, streamId, request, signal, sleep } = options;
  let offset = options.offset ?? 0;
  let begins = options.offset === undefined;
  let begun = offset > 0;
  let answered = begun;
  let tries = 0;
  let missing = false;
  for (;;) {
    try {
      const events =
        begins && request ? engine.answer(await request(), signal) : engine.resume(streamId, offset, signal);
      for await (const event of events) {
        if (missing) yield { type: 'found' };
        missing = false;
        begun = true;
        tries = 0;
        if (event.type === 'offset') offset = event.offset;
        yield event;
        if (event.type === 'done') return;
      }
      throw new EngineError({ kind: 'network', message: 'The answer ended before its end.' }, true);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!(error instanceof EngineError)) throw error;
      // Browsers drop what a connection brought and they had not handed on yet when it breaks.
      answered ||= error.hadBegun;
      const neverArrived = error.fault.kind === 'gone' && !begun && request !== undefined && !begins;
      if (!neverArrived && !error.canResume) throw error;
      // There is no answer to save, and the reader is told.
      if (tries === DELAYS_MS.length && !begun && !answered) throw error;
      begins = neverArrived;
      if (neverArrived) continue;
      if (!missing) yield { type: 'lost', fault: error.fault };
      missing = true;
      await sleep(DELAYS_MS[tries] ?? LATER_MS, signal);
      tries = Math.min(tries + 1, DELAYS_MS.length);
    }
  }
}
