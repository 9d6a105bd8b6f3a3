// The tab whose worker answers for all: hands their calls to the worker, and drops those of tabs that are gone.
import type { ToServer } from '../rpc/messages.js';
import type { Port } from '../rpc/port.js';
import type { RpcClient } from '../rpc/client.js';
import { type CallContext, type Handlers, serveCalls } from '../rpc/server.js';
import type { LoadedModel } from '../worker/engine_api.js';
import type { Channel } from './channel.js';

const kStreams = ['chat', 'complete'];
const kCalls = ['watch', 'embed', 'tokenize', 'detokenize', 'logits', 'bench', 'memory'];

export interface Leader {
  ready(info: LoadedModel): void; // the engine has loaded
  close(): void;
}

export const tabLock = (id: string): string => `puna-tab:${id}`;

export function leadFor(channel: Channel, worker: RpcClient): Leader {
  const handlers = forwardTo(worker);
  const closing = new AbortController();
  let info: LoadedModel | null = null;
  const announce = () => channel.broadcast('leading', info);
  channel.on('who', announce);
  channel.onFirstCall((tab, first) => {
    const port = channel.toClient(tab);
    const cancelAll = serveCalls(replaying(port, first), handlers);
    navigator.locks.request(tabLock(tab), { signal: closing.signal }, () => (cancelAll(), port.close())).catch(() => undefined);
  });
  announce();
  return {
    ready: (loaded) => {
      info = loaded;
      announce();
    },
    close: () => {
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
  const handlers: Handlers = {};
  for (const method of kCalls) {
    handlers[method] = (params: unknown, { signal, emit }: CallContext) => worker.call(method, params, { signal, onEvent: (event) => void emit(event) });
  }
  for (const method of kStreams) {
    handlers[method] = async (params: unknown, { signal, emit }: CallContext) => {
      for await (const event of worker.stream(method, params, { signal })) await emit(event);
    };
  }
  return handlers;
}
