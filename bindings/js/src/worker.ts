// The dedicated worker of an engine (dist/worker.js), and the one beside it that computes SHA-256.
import { kSha256Worker, serveSha256 } from './download/sha256.js';
import { EngineHost } from './engine/engine_host.js';
import { portOf } from './rpc/port.js';
import { serveCalls } from './rpc/server.js';
import { workerCalls } from './worker/worker_calls.js';

if (self.name === kSha256Worker) {
  void serveSha256(self);
} else {
  // The folder of puna.wasm: that of this script, unless the page names another one.
  const base = new URL(new URLSearchParams(self.location.search).get('assets') ?? './', import.meta.url).href;
  serveCalls(portOf(self), workerCalls(() => EngineHost.create({ base })));
}
