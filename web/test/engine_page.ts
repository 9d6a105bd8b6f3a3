// What the page of engine.e2e.mjs runs: an answer of the server over whatever happens to its connections, and scripts in the
// sandbox.
import { follow } from '../src/lib/services/follow.ts';
import { HttpEngine } from '../src/lib/services/http/http_engine.ts';
import { preview, runScript } from '../src/lib/services/sandbox.ts';
import { Waker } from '../src/lib/services/wake.ts';
import { Written } from '../src/lib/stores/answers/written.ts';
import type { AnswerRequest } from '../src/lib/types/engine.ts';

export interface Told {
  text: string;
  offset: number;
  lost: number;
  reason: string | undefined;
}

async function answer(request: AnswerRequest): Promise<Told> {
  const engine = new HttpEngine({ base: '/', key: () => undefined, fetch: (input, init) => fetch(input, init) });
  const waker = new Waker();
  waker.listen();
  // In a thousandth of the time: what is tried is where the cuts are, not how long one waits.
  const sleep: typeof waker.sleep = (ms, signal) => waker.sleep(ms / 1_000, signal);
  const { streamId } = request;
  const message = {
    id: streamId,
    convId: 'c',
    parent: 'q',
    order: 1,
    role: 'assistant',
    content: '',
    files: [],
    status: 'writing',
    timestamp: 0,
  } as const;
  const written = new Written({ ...message, files: [] }, true);
  let lost = 0;
  const { signal } = new AbortController();
  for await (const event of follow({ engine, streamId, request: async () => request, signal, sleep })) {
    if (event.type === 'lost') ++lost;
    else if (event.type !== 'found') written.apply(event);
  }
  return { text: written.content, offset: written.saved.offset ?? 0, lost, reason: written.reason };
}

// What it gives, or the error's text.
function script(code: string, limitMs?: number): Promise<string> {
  return runScript(code, new AbortController().signal, limitMs).catch(
    (error: unknown) => `failed: ${(error as Error).message}`,
  );
}

Object.assign(globalThis, { answer, script, preview });
