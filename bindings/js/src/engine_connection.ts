// A worker of its own for an engine, as the page reaches it.
import { PunaError } from './errors.js';
import { RpcClient } from './rpc/client.js';
import { portOf } from './rpc/port.js';

export interface WorkerOptions {
  // Where worker.js and puna.wasm lie, when not beside this module (a bundler moved it): an address ending with "/".
  assets?: string | URL;
}

export function startWorker({ assets }: WorkerOptions): RpcClient {
  if (typeof Worker === 'undefined') throw new PunaError('unsupported', 'There are no workers here; Puna runs in the pages of a browser.');
  // Bundlers find the worker by the first expression, word for word.
  const worker =
    assets === undefined
      ? new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'puna' })
      : new Worker(workerAddress(assets), { type: 'module', name: 'puna' });
  const client = new RpcClient(portOf(worker, () => worker.terminate()));
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    const why = event.message || 'its script could not be loaded';
    client.close(new PunaError('internal', `The worker of the engine ended: ${why}. Is worker.js served beside index.js, or "assets" set?`));
  });
  return client;
}

function workerAddress(assets: string | URL): URL {
  const folder = new URL(assets, document.baseURI);
  if (!folder.pathname.endsWith('/')) throw new PunaError('invalid_argument', `"assets" is ${folder.href}, but it has to be the address of a folder, ending with "/".`);
  return new URL('worker.js', folder);
}
