import assert from 'node:assert/strict';
import test from 'node:test';
import { PunaError } from '../../src/errors.js';
import { RpcClient } from '../../src/rpc/client.js';
import { kMostUnread } from '../../src/rpc/messages.js';
import { portOf } from '../../src/rpc/port.js';
import { type CallContext, type Handlers, serveCalls } from '../../src/rpc/server.js';

function connect(handlers: Handlers) {
  const { port1, port2 } = new MessageChannel();
  const log: { type: string }[] = [];
  const server = portOf(port2 as never);
  serveCalls({ ...server, listen: (handler) => server.listen((message) => (log.push(message as { type: string }), handler(message))) }, handlers);
  const client = new RpcClient(portOf(port1 as never, () => port1.close()));
  return { client, log };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function count({ n, delay = 0 }: { n: number; delay?: number }, { emit, signal }: CallContext): Promise<string> {
  for (let i = 0; i < n && !signal.aborted; ++i) {
    await emit(i);
    if (delay) await pause(delay);
  }
  return signal.aborted ? 'stopped' : 'done';
}

test('results, events and errors cross with their code', async () => {
  const { client } = connect({
    count: count as never,
    fail: () => {
      throw new PunaError('not_found', 'There is no 5.');
    },
    crash: () => {
      throw new TypeError('x is undefined');
    },
  });
  const events: unknown[] = [];
  assert.equal(await client.call('count', { n: 3 }, { onEvent: (event) => events.push(event) }), 'done');
  assert.deepEqual(events, [0, 1, 2]);
  await assert.rejects(client.call('fail'), { code: 'not_found', message: 'There is no 5.' });
  await assert.rejects(client.call('crash'), { code: 'internal' });
  await assert.rejects(client.call('none'), { code: 'internal', message: /"none"/ });
  await assert.rejects(client.call('toString'), { code: 'internal' });
  client.close();
});

test('leaving a stream cancels the call', async () => {
  let outcome = '';
  const { client } = connect({ count: (async (params: never, context: CallContext) => (outcome = await count(params, context))) as never });
  for await (const event of client.stream<number>('count', { n: 1000, delay: 1 })) if (event === 2) break;
  await pause(50);
  assert.equal(outcome, 'stopped');
  client.close();
});

test('a raised signal ends a stream, even one that waits', async () => {
  const { client } = connect({ count: count as never });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(async () => {
    for await (const _ of client.stream('count', { n: 1000, delay: 500 }, { signal: stop.signal }));
  }, { code: 'aborted', name: 'AbortError' });
  await assert.rejects(client.call('count', { n: 1 }, { signal: stop.signal }), { code: 'aborted' });
  client.close();
});

test('a reader that is behind pauses the sender, and gets everything', async () => {
  let sent = 0;
  // It never gives way but where it is told to wait.
  const { client, log } = connect({ count: (async (params: { n: number }, { emit }: CallContext) => {
    while (sent < params.n) {
      const caughtUp = emit(sent++);
      if (caughtUp) await caughtUp;
    }
  }) as never });
  const stream = client.stream<number>('count', { n: 2000 });
  await stream.next();
  await pause(50);
  assert.equal(sent, kMostUnread);
  const rest: number[] = [];
  for await (const event of stream) rest.push(event);
  assert.deepEqual([rest.length, rest[0], rest.at(-1)], [1999, 1, 1999]);
  assert.ok(log.some(({ type }) => type === 'read'));
  client.close();
});

test('events of a plain call are read as they come', async () => {
  const { client } = connect({ count: count as never });
  let events = 0;
  assert.equal(await client.call('count', { n: 10 * kMostUnread }, { onEvent: () => ++events }), 'done');
  assert.equal(events, 10 * kMostUnread);
  client.close();
});

test('closing fails what runs and what comes', async () => {
  const { client } = connect({ count: count as never });
  const running = client.call('count', { n: 1000, delay: 10 });
  client.close();
  await assert.rejects(running, { code: 'closed' });
  await assert.rejects(client.call('count', { n: 1 }), { code: 'closed' });
});

test('a client that is closed has its calls cancelled, and the next one at its port hears nothing of them', async (t) => {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const outcomes: string[] = [];
  serveCalls(portOf(port2 as never), {
    count: (async (params: never, context: CallContext) => {
      outcomes.push(await count(params, context));
      return 'counted';
    }) as never,
    wait: () => pause(100).then(() => 'waited'),
  });
  const first = new RpcClient(portOf(port1 as never));
  const events: unknown[] = [];
  const cut = first.call('count', { n: 20, delay: 10 }, { onEvent: (event) => events.push(event) });
  await pause(30);
  first.close();
  await assert.rejects(cut, { code: 'closed' });
  const second = new RpcClient(portOf(port1 as never));
  const seen = events.length;
  assert.equal(await second.call('wait', null, { onEvent: (event) => events.push(event) }), 'waited');
  assert.deepEqual([events.length, outcomes], [seen, ['stopped']]);
});

test('what cannot be cloned is an invalid argument', async () => {
  const { client } = connect({ count: count as never });
  await assert.rejects(client.call('count', { n: () => 1 }), { code: 'invalid_argument' });
  client.close();
});
