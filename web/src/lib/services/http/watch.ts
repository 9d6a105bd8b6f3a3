// Follows what becomes of a server and its models: a router tells, of others it is asked now and then.
import type { ServerState } from '../../types/engine.ts';
import { ok, type ServerAddress } from './connection.ts';
import { Silence } from './silence.ts';

// While the server is there, and while it is not: soon at first, then less often.
const LOOK_MS = 15_000;
const AWAY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];
// What comes within so long is looked at once.
const BURST_MS = 150;

// `look` asks for everything anew and says what the server is. Runs until the signal is aborted.
export async function watchServer(
  server: ServerAddress,
  look: () => Promise<ServerState>,
  signal: AbortSignal,
): Promise<void> {
  for (let away = 0; !signal.aborted; ) {
    const state = await look();
    away = state.reachable ? 0 : Math.min(away + 1, AWAY_MS.length);
    if (state.reachable && state.kind === 'router') {
      await events(server, look, signal).catch(() => undefined);
      await wait(AWAY_MS[0]!, signal);
      continue;
    }
    // A static host does not become a server.
    if (state.kind === 'none') return;
    await wait(away === 0 ? LOOK_MS : AWAY_MS[away - 1]!, signal);
  }
}

// Each event is a reason to look. The stream ends where the server or the connection does.
async function events(server: ServerAddress, look: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  const inner = new AbortController();
  const abort = () => inner.abort();
  signal.addEventListener('abort', abort);
  const silence = new Silence(abort);
  let soon: ReturnType<typeof setTimeout> | undefined;
  try {
    const response = await ok(server, 'models/sse', { signal: inner.signal });
    const reader = response.body!.getReader();
    for (;;) {
      const { done } = await reader.read();
      if (done) return;
      silence.heard();
      // Events come in bursts, as the first ones, which tell of every model.
      soon ??= setTimeout(() => {
        soon = undefined;
        void look();
      }, BURST_MS);
    }
  } finally {
    silence.end();
    clearTimeout(soon);
    signal.removeEventListener('abort', abort);
    inner.abort();
  }
}

// At once when the page is seen again or the network comes back.
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      globalThis.removeEventListener?.('online', end);
      globalThis.document?.removeEventListener('visibilitychange', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    globalThis.addEventListener?.('online', end);
    globalThis.document?.addEventListener('visibilitychange', end);
  });
}
