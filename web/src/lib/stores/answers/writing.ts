// One answer from its request to its end: what comes is put together, shown, saved, and its end is told in the message.
import type { Fault, Id, Message } from '../../types/conversation.ts';
import { EngineError, type AnswerRequest } from '../../types/engine.ts';
import { follow } from '../../services/follow.ts';
import type { Choice, Deps, Open, Setup } from './deps.ts';
import type { Live } from './live.svelte.ts';
import { promptOf } from './prompt.ts';
import { Saver } from './saver.ts';
import { resultsOf } from './tool_round.ts';
import { Written } from './written.ts';

// Why an answer is given up: the reader has stopped it, or its message was deleted.
export class Stopped extends Error {}
export class Deleted extends Error {}

// Fewer say little about the speed.
const LEAST_MEASURED_TOKENS = 8;

export interface Job {
  deps: Deps;
  open: Open;
  live: Live;
  signal: AbortSignal;
  setup: Setup;
  // begin: nothing was asked yet. resume: it was, before the page went away.
  mode: 'begin' | 'resume';
  continues: boolean;
}

// Resolves with the message as it was saved at its end, whatever that was; null where there is none any more.
export async function write(job: Job): Promise<Message | null> {
  const { deps, open, live, signal, setup } = job;
  const id = live.messageId;
  const message = open.messages.get(id);
  if (!message) return null;
  const { choice } = setup;
  const counts = message.streamId !== undefined;
  // Calls of this stream have no results before it ends.
  const written = new Written(message, counts, resultsOf(open, message).length);
  live.show(written);
  const given = new AbortController();
  const giveUp = () => given.abort(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp);
  const saver = new Saver(
    () => written.saved,
    () => {
      const alive = !open.gone && open.messages.has(id);
      if (!alive) given.abort(new Deleted());
      return alive;
    },
    (state) => open.change(id, state).catch(() => undefined),
  );
  let end: Partial<Message>;
  try {
    if (!choice) throw new EngineError({ kind: 'model', message: 'No model is chosen.' });
    await receive(job, choice, message, written, given.signal);
    end = { status: written.reason === 'length' ? 'cut' : written.reason === 'cancelled' ? 'stopped' : 'done' };
  } catch (error) {
    if (error instanceof Deleted) return null;
    end = endOf(error, written);
  } finally {
    saver.end();
    signal.removeEventListener('abort', giveUp);
  }
  const patch: Partial<Message> = { ...written.saved, content: written.content, ...end };
  if (written.thought !== '') patch.thought = written.thought;
  if (written.timings) {
    const { timings } = written;
    // Of an answer that was taken up again, the engine's word is what is left.
    patch.timings = {
      ...timings,
      firstTokenMs: job.mode === 'begin' ? (written.firstTokenMs ?? 0) : Math.round(timings.promptMs),
    };
    if (choice && timings.answerTokens >= LEAST_MEASURED_TOKENS && timings.answerMs > 0) {
      deps.measured(choice, (timings.answerTokens * 1000) / timings.answerMs);
    }
  }
  live.show(written);
  if (open.gone || !open.messages.has(id)) return null;
  await open.change(id, patch).catch(() => undefined);
  return { ...message, ...patch };
}

async function receive(
  job: Job,
  choice: Choice,
  message: Message,
  written: Written,
  signal: AbortSignal,
): Promise<void> {
  const { deps, live, mode } = job;
  const engine = deps.engine(choice.runsOn);
  const { id, streamId, offset } = message;
  if (mode === 'begin' && choice.runsOn === 'server' && job.setup.state === 'unloaded') {
    // So that it is seen to load; the request itself would have it loaded too, or says why not.
    await engine.load(choice.model, signal).catch(() => signal.throwIfAborted());
  }
  const events = follow({
    engine,
    streamId: streamId ?? id,
    request: () => requestOf(job, choice, message),
    ...(mode === 'resume' ? { offset: offset ?? 0 } : {}),
    signal,
    sleep: deps.sleep,
  });
  for await (const event of events) {
    if (event.type === 'lost') {
      live.show(written);
      live.lost(event.fault);
    } else if (event.type === 'found') live.found();
    else {
      written.apply(event);
      live.hear(event, written);
    }
  }
}

async function requestOf(
  { deps, open, setup, continues }: Job,
  choice: Choice,
  message: Message,
): Promise<AnswerRequest> {
  const before = open.pathTo(message.id).slice(0, -1);
  const refusal = setup.refuses(before.flatMap(({ files }) => files));
  if (refusal !== undefined) throw new EngineError({ kind: 'media', message: refusal });
  let messages;
  try {
    messages = await promptOf(continues ? [...before, message] : before, deps.getFile);
  } catch (error) {
    throw new EngineError({ kind: 'refused', message: (error as Error).message });
  }
  if (setup.system !== '' && !messages.some(({ role }) => role === 'system'))
    messages.unshift({ role: 'system', content: setup.system });
  const { model } = choice;
  const { parameters, tools } = setup;
  // An answer of which nothing had come is begun anew.
  const goesOn = continues && messages.at(-1)?.role === 'assistant';
  return { model, messages, parameters, tools, continues: goesOn, streamId: message.streamId ?? message.id };
}

function endOf(error: unknown, written: Written): Partial<Message> {
  if (error instanceof Stopped) return { status: 'stopped' };
  const fault: Fault =
    error instanceof EngineError ? error.fault : { kind: 'engine', message: String((error as Error).message ?? error) };
  // What has come is kept and can be continued. That the server no longer has the rest needs no explanation beyond
  // that.
  if (written.content === '' && written.thought === '') return { status: 'failed', error: fault };
  return fault.kind === 'gone' ? { status: 'cut' } : { status: 'cut', error: fault };
}

// The name of the lease of the tab that writes an answer.
export function leaseName(id: Id): string {
  return `puna-answer:${id}`;
}
