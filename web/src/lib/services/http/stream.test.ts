import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineError, type EngineEvent } from '../../types/engine.ts';
import { readStream } from './stream.ts';

const fixture = (name: string) => new Uint8Array(readFileSync(new URL(`./fixtures/${name}`, import.meta.url)));
const head = { headers: { 'content-type': 'text/event-stream; charset=utf-8' } };

// A reply whose body is these pieces; then it ends, or breaks, or stays open until the request is aborted.
function reply(pieces: Uint8Array[], end: 'ends' | 'breaks' | 'stays', signal: AbortSignal): Response {
  const left = [...pieces];
  return new Response(
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(body) {
        signal.addEventListener('abort', () => body.error(signal.reason));
      },
      pull(body) {
        const piece = left.shift();
        if (piece) body.enqueue(new Uint8Array(piece));
        else if (end === 'ends') body.close();
        else if (end === 'breaks') body.error(new TypeError('network error'));
      },
    }),
    head,
  );
}

async function collect(events: AsyncIterable<EngineEvent>): Promise<{ events: EngineEvent[]; error?: unknown }> {
  const out: EngineEvent[] = [];
  try {
    for await (const event of events) out.push(event);
  } catch (error) {
    return { events: out, error };
  }
  return { events: out };
}

const open = () => new AbortController().signal;
const textOf = (events: EngineEvent[]) => events.map((event) => (event.type === 'text' ? event.text : '')).join('');

describe('readStream', () => {
  it('gives what a server sends', async () => {
    const all = fixture('calls.sse');
    const { events, error } = await collect(
      readStream(async (signal) => reply([all], 'stays', signal), { from: 0, signal: open() }),
    );
    expect(error).toBeUndefined();
    const offsets = events.filter(({ type }) => type === 'offset');
    expect(offsets.length).toBeGreaterThan(10);
    expect(events.filter(({ type }) => type !== 'offset')).toEqual([
      { type: 'reading', done: 10, total: 10, cached: 4, ms: 7 },
      { type: 'thought', text: 'Überlegen ' },
      { type: 'thought', text: 'wir 🌴.' },
      { type: 'text', text: 'Es ist ' },
      { type: 'text', text: '日本語 🏝️' },
      { type: 'call', index: 0, id: 'call_1', name: 'calculator', arguments: '' },
      { type: 'call', index: 0, arguments: '{"expression":' },
      { type: 'call', index: 0, arguments: '"1+1"}' },
      {
        type: 'done',
        reason: 'tool_calls',
        timings: { promptTokens: 10, cachedTokens: 4, promptMs: 7.5, answerTokens: 9, answerMs: 90 },
      },
    ]);
  });

  it('reads what puna serve has sent, wherever it is cut, and can go on there', async () => {
    const all = fixture('chat.sse');
    const whole = await collect(
      readStream(async (signal) => reply([all], 'stays', signal), { from: 0, signal: open() }),
    );
    expect(textOf(whole.events).length).toBeGreaterThan(20);
    expect(whole.events.at(-1)).toMatchObject({
      type: 'done',
      reason: 'stop',
      timings: { promptTokens: 38, answerTokens: 20 },
    });
    for (let cut = 0; cut < all.length; cut += 61) {
      const first = await collect(
        readStream(async (signal) => reply([all.subarray(0, cut)], 'breaks', signal), { from: 0, signal: open() }),
      );
      expect(first.error).toMatchObject({ canResume: true, fault: { kind: 'network' } });
      const last = first.events.findLast((event) => event.type === 'offset');
      const from = last?.type === 'offset' ? last.offset : 0;
      const rest = await collect(
        readStream(async (signal) => reply([all.subarray(from)], 'stays', signal), { from, signal: open() }),
      );
      const both = [...first.events, ...rest.events];
      const words = (events: EngineEvent[]) => events.filter(({ type }) => type !== 'offset' && type !== 'done');
      expect(words(both)).toEqual(words(whole.events));
      expect(rest.error).toBeUndefined();
    }
  });

  it('takes an end without [DONE] for a loss', async () => {
    const { error } = await collect(
      readStream(async (signal) => reply([], 'ends', signal), { from: 0, signal: open() }),
    );
    expect(error).toMatchObject({ canResume: true });
  });

  it.each([
    ['data: {"error":{"code":500,"message":"The device is gone."}}\n\n', 'The device is gone.'],
    ['data: {"choices\n\n', 'An event of the stream is no JSON.'],
  ])('ends at %j', async (text, message) => {
    const bytes = new TextEncoder().encode(text);
    const { error } = await collect(
      readStream(async (signal) => reply([bytes], 'stays', signal), { from: 0, signal: open() }),
    );
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({ canResume: false, fault: { kind: 'engine', message } });
  });

  it('tells of a reply that is an error, and of one that is no stream', async () => {
    const refused = Response.json(
      { error: { message: 'no', type: 'exceed_context_size_error', n_prompt_tokens: 5, n_ctx: 4 } },
      { status: 400 },
    );
    const a = await collect(readStream(async () => refused, { from: 0, signal: open() }));
    expect(a.error).toMatchObject({ fault: { kind: 'context', promptTokens: 5, contextTokens: 4 }, canResume: false });
    const b = await collect(
      readStream(async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }), {
        from: 0,
        signal: open(),
      }),
    );
    expect(b.error).toMatchObject({ fault: { kind: 'engine' } });
  });

  it('ends the request when its reader leaves, and throws the reason of its signal', async () => {
    let inner: AbortSignal | undefined;
    const ask = async (signal: AbortSignal) => reply([fixture('chat.sse')], 'stays', (inner = signal));
    for await (const event of readStream(ask, { from: 0, signal: open() })) if (event.type === 'text') break;
    expect(inner?.aborted).toBe(true);

    const stop = new AbortController();
    const reason = new Error('stopped');
    const events = readStream(async (signal) => reply([], 'stays', signal), { from: 0, signal: stop.signal });
    const all = collect(events);
    stop.abort(reason);
    expect((await all).error).toBe(reason);
  });
});

describe('silence', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is a loss after 75 seconds, and signs of life are none', async () => {
    let body: ReadableStreamDefaultController<Uint8Array> | undefined;
    const ask = async (signal: AbortSignal) =>
      new Response(
        new ReadableStream({
          start(controller) {
            body = controller;
            signal.addEventListener('abort', () => controller.error(signal.reason));
          },
        }),
        head,
      );
    let ended = false;
    const all = collect(readStream(ask, { from: 0, signal: open() })).finally(() => (ended = true));
    for (let i = 0; i < 6; ++i) {
      await vi.advanceTimersByTimeAsync(60_000);
      body?.enqueue(new TextEncoder().encode(': ping\n\n'));
      await vi.advanceTimersByTimeAsync(0);
    }
    await vi.advanceTimersByTimeAsync(65_000);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(15_000);
    expect((await all).error).toMatchObject({ canResume: true, fault: { kind: 'network' } });
  });

  it('of a model that loads is borne, as long as it does', async () => {
    let loads = true;
    const never = (signal: AbortSignal) =>
      new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    let ended = false;
    const events = readStream(never, { from: 0, signal: open(), patient: async () => loads });
    const all = collect(events).finally(() => (ended = true));
    await vi.advanceTimersByTimeAsync(400_000);
    expect(ended).toBe(false);
    loads = false;
    await vi.advanceTimersByTimeAsync(80_000);
    expect((await all).error).toMatchObject({ canResume: true });
  });

  it('of a server that does not even say whether a model loads is a loss', async () => {
    const never = (signal: AbortSignal) =>
      new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    const patient = () => new Promise<boolean>(() => {});
    const all = collect(readStream(never, { from: 0, signal: open(), patient }));
    await vi.advanceTimersByTimeAsync(95_000);
    expect((await all).error).toMatchObject({ canResume: true, fault: { kind: 'network' } });
  });
});
