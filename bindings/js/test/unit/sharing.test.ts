// One engine for several tabs: who leads, who follows, and what becomes of calls when that changes. The tabs are connections of this process.
import '../support/browser_globals.js';
import assert from 'node:assert/strict';
import test, { afterEach, beforeEach } from 'node:test';
import { Engine } from '../../src/engine.js';
import type { ChatChunk } from '../../src/openai_types.js';
import type { LoadParams, Method } from '../../src/protocol.js';
import { RpcClient } from '../../src/rpc/client.js';
import { portOf } from '../../src/rpc/port.js';
import { type CallContext, type Handlers, serveCalls } from '../../src/rpc/server.js';
import { SharedConnection } from '../../src/sharing/shared_connection.js';
import { workerCalls } from '../../src/worker/worker_calls.js';
import { installFakeLocks } from '../support/fake_locks.js';

const methods = Object.keys(workerCalls(() => Promise.reject(new Error('no engine here')))) as Method[];
const params = { source: { kind: 'name', id: 'm', name: 'm' }, options: {}, storage: 'auto', keep: false } as LoadParams;
const words = 40;

let removeLocks: () => void;
let connections: SharedConnection[];
beforeEach(() => {
  removeLocks = installFakeLocks();
  connections = [];
});
afterEach(() => {
  connections.forEach((connection) => connection.close());
  removeLocks();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// What the promise gives, for which nobody waits for ever.
const soon = <T>(promise: Promise<T>) => Promise.race([promise, pause(3000).then(() => Promise.reject(new Error('nothing came')))]);

// A worker whose calls answer with its tab; a chat says numbers.
function worker(tab: string, fails: boolean): () => RpcClient {
  const named: Handlers = Object.fromEntries(methods.map((method) => [method, () => `${method} in ${tab}`]));
  const handlers: Handlers = {
    ...named,
    load: async () => {
      await pause(10);
      if (fails) throw new Error('no memory here');
      return { name: 'm' };
    },
    watch: (_: null, { signal }: CallContext) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
    chat: async (_: object, { emit, signal }: CallContext) => {
      for (let i = 0; i < words && !signal.aborted; ++i) {
        await pause(10);
        void emit({ id: tab, choices: [{ index: 0, delta: { content: `${i} ` }, finish_reason: i === words - 1 ? 'stop' : null }] } as ChatChunk);
      }
    },
  };
  return () => {
    const { port1, port2 } = new MessageChannel();
    serveCalls(portOf(port2 as never), handlers);
    return new RpcClient(portOf(port1 as never, () => port1.close()));
  };
}

async function open(tab: string, { fails = false, more = {} } = {}) {
  const { connection, info } = await soon(SharedConnection.open(worker(tab, fails), { ...params, ...more }, () => undefined));
  connections.push(connection);
  return { connection, engine: Engine.of(connection, info, () => undefined) };
}

test('every call of the engine is answered in a tab that does not lead', async () => {
  await open('A');
  const { connection } = await open('B');
  for (const method of methods.filter((each) => !['load', 'watch', 'chat', 'complete', 'close'].includes(each))) {
    assert.equal(await soon(connection.call(method, null as never)), `${method} in A`);
  }
});

// The messages of two tabs come in any order.
for (const late of [0, 50]) {
  test(`a tab that could not take over leaves the word to the one that leads, though it hears all ${late} ms late`, async () => {
    const first = await open('L');
    const failing = await open('A', { fails: true });
    await open('B');
    const reader = await open('C');
    first.connection.close();
    await pause(100);
    const bus = (failing.connection as unknown as { channel: { channel: BroadcastChannel } }).channel.channel;
    const heard = bus.onmessage!;
    bus.onmessage = (event) => void setTimeout(() => heard.call(bus, event), late);
    const answer = reader.engine.chat({ messages: [] }).completion();
    await pause(100);
    const news = await open('D');
    const whole = Array.from({ length: words }, (_, i) => `${i} `).join('');
    assert.equal((await soon(answer)).choices[0]!.message.content, whole);
    for (const { connection } of [reader, failing, news]) assert.equal(await soon(connection.call('tokenize', { text: '' })), 'tokenize in B');
  });
}

test('tabs with other options have engines of their own, also where one wants no encoder', async () => {
  const more = [{}, { mmproj: null }, { mmproj: { ...params.source, id: 'e' } }, { options: { parallel: 2 } }];
  for (const [i, each] of more.entries()) {
    const { connection } = await open(`${i}`, { more: each });
    assert.equal(await soon(connection.call('tokenize', { text: '' })), `tokenize in ${i}`);
  }
  const { connection } = await open('last', { more: { options: { parallel: 2, threads: undefined } } });
  assert.equal(await soon(connection.call('tokenize', { text: '' })), 'tokenize in 3');
});
