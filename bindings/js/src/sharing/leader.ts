// The tab whose worker answers for all: hands their calls to the worker, and drops those of tabs that are gone.
import type { Method, TextMethod } from '../protocol.js';
import type { ToServer } from '../rpc/messages.js';
import type { Port } from '../rpc/port.js';
import type { RpcClient } from '../rpc/client.js';
import { type CallContext, type Handlers, serveCalls } from '../rpc/server.js';
import type { LoadedModel } from '../worker/engine_api.js';
import type { Channel } from './channel.js';

// How each call goes to the worker. To load the engine and to close it is for this tab alone.
const kForwarded: Record<TextMethod, 'stream'> & Record<Exclude<Method, TextMethod | 'load' | 'close'>, 'call'> = {
  watch: 'call',
  chat: 'stream',
  complete: 'stream',
  embed: 'call',
  tokenize: 'call',
  detokenize: 'call',
  logits: 'call',
  embedMedia: 'call',
  countTokens: 'call',
  bench: 'call',
  memory: 'call',
};

export interface Leader {
  ready(info: LoadedModel): void; // the engine has loaded
  close(): void; // ends the worker; nobody is answered any more
}

export const tabLock = (id: string): string => `puna-tab:${id}`;

export function leadFor(channel: Channel, worker: RpcClient): Leader {
  const handlers = forwardTo(worker);
  const closing = new AbortController();
  let info: LoadedModel | null = null;
  const announce = () => channel.broadcast('leading', info);
  const answerTab = (tab: string, first: ToServer) => {
    const port = channel.toClient(tab);
    const cancelAll = serveCalls(replaying(port, first), handlers);
    navigator.locks.request(tabLock(tab), { signal: closing.signal }, () => (cancelAll(), port.close())).catch(() => undefined);
  };
  // A tab that could not load is still there, and must not speak for the one that leads in its place.
  const listening = [channel.on('who', announce), channel.onFirstCall(answerTab)];
  announce();
  return {
    ready: (loaded) => {
      info = loaded;
      announce();
    },
    close: () => {
      listening.forEach((stop) => stop());
      closing.abort();
      worker.close();
    },
  };
}

// The port, with a message that came before anybody listened.
function replaying(port: Port, first: ToServer): Port {
  return {
    ...port,
    listen: (handler) => {
      port.listen(handler);
      handler(first);
    },
  };
}

function forwardTo(worker: RpcClient): Handlers {
  const call = (method: string) => (params: unknown, { signal, emit }: CallContext) => worker.call(method, params, { signal, onEvent: (event) => void emit(event) });
  const stream = (method: string) => async (params: unknown, { signal, emit }: CallContext) => {
    for await (const event of worker.stream(method, params, { signal })) await emit(event);
  };
  return Object.fromEntries(Object.entries(kForwarded).map(([method, how]) => [method, how === 'stream' ? stream(method) : call(method)]));
}
