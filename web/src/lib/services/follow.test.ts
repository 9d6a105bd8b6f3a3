import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineError, type AnswerRequest, type EngineEvent } from '../types/engine.ts';
import { DELAYS_MS, follow, type FollowEvent, LATER_MS } from './follow.ts';
import { Waker } from './wake.ts';

const network = new EngineError({ kind: 'network', message: 'away' }, true);
const gone = new EngineError({ kind: 'gone', message: 'gone' });
const key = new EngineError({ kind: 'key', message: 'no key' });

const text = (word: string): EngineEvent => ({ type: 'text', text: word });
const at = (offset: number): EngineEvent => ({ type: 'offset', offset });
const done: EngineEvent = {
  type: 'done',
  reason: 'stop',
  timings: { promptTokens: 1, cachedTokens: 0, promptMs: 1, answerTokens: 1, answerMs: 1 },
};

// What each connection gives, one after the other; an error breaks it.
function engine(script: (EngineEvent | Error)[][]) {
  const asked: string[] = [];
  const left = [...script];
  async function* play() {
    for (const each of left.shift() ?? [new Error('The script is over.')]) {
      if (each instanceof Error) throw each;
      yield each;
    }
  }
  return {
    asked,
    answer: (request: AnswerRequest) => {
      asked.push(`answer ${request.model}`);
      return play();
    },
    resume: (streamId: string, offset: number) => {
      asked.push(`resume ${streamId} ${offset}`);
      return play();
    },
  };
}

async function run(script: (EngineEvent | Error)[][], options: { offset?: number; request?: boolean } = {}) {
  const slept: number[] = [];
  const fake = engine(script);
  const events: FollowEvent[] = [];
  const request = async () => ({ model: 'm' }) as AnswerRequest;
  let error: unknown;
  try {
    const followed = follow({
      engine: fake,
      streamId: 's',
      ...(options.request === false ? {} : { request }),
      ...(options.offset === undefined ? {} : { offset: options.offset }),
      signal: new AbortController().signal,
      sleep: async (ms) => void slept.push(ms),
    });
    for await (const event of followed) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  return { events, error, slept, asked: fake.asked };
}

describe('follow', () => {
  it('gives an answer that comes as it comes', async () => {
    const { events, asked, slept } = await run([[text('a'), at(5), done]]);
    expect(events).toEqual([text('a'), at(5), done]);
    expect([asked, slept]).toEqual([['answer m'], []]);
  });

  it('takes a lost stream up behind its last offset, and waits longer each time', async () => {
    const { events, asked, slept } = await run([
      [text('a'), at(5), network],
      [network],
      [network],
      [text('b'), at(9), network],
      [text('c'), at(12), done],
    ]);
    const words = events.map((event) => (event.type === 'text' ? event.text : event.type));
    expect(words).toEqual(['a', 'offset', 'lost', 'found', 'b', 'offset', 'lost', 'found', 'c', 'offset', 'done']);
    expect(asked).toEqual(['answer m', 'resume s 5', 'resume s 5', 'resume s 5', 'resume s 9']);
    expect(slept).toEqual([500, 1000, 2000, 500]);
  });

  it('takes a connection that just ends for a lost one', async () => {
    const { asked } = await run([[text('a'), at(5)], [done]]);
    expect(asked).toEqual(['answer m', 'resume s 5']);
  });

  it('goes on trying for what had begun', async () => {
    const tries = DELAYS_MS.length + 3;
    const { slept, events } = await run([[at(5), network], ...Array.from({ length: tries }, () => [network]), [done]]);
    expect(slept).toEqual([...DELAYS_MS, ...Array.from({ length: tries + 1 - DELAYS_MS.length }, () => LATER_MS)]);
    expect(events.filter(({ type }) => type === 'lost')).toHaveLength(1);
  });

  it('goes on trying for what the server had begun, though nothing came', async () => {
    const cut = new EngineError({ kind: 'network', message: 'cut' }, true, true);
    const { error, slept } = await run([[cut], ...DELAYS_MS.map(() => [network]), [network], [text('a'), done]]);
    expect(error).toBeUndefined();
    expect(slept).toEqual([...DELAYS_MS, LATER_MS, LATER_MS]);
  });

  it('gives up what never began', async () => {
    const { slept, error, asked } = await run(Array.from({ length: 9 }, () => [network]));
    expect(error).toBe(network);
    expect(slept).toEqual(DELAYS_MS);
    expect(asked[0]).toBe('answer m');
    expect(asked.slice(1)).toEqual(DELAYS_MS.map(() => 'resume s 0'));
  });

  it('asks again where the request never arrived', async () => {
    const { asked, events } = await run([[network], [gone], [text('a'), at(5), done]]);
    expect(asked).toEqual(['answer m', 'resume s 0', 'answer m']);
    expect(events.map(({ type }) => type)).toEqual(['lost', 'found', 'text', 'offset', 'done']);
  });

  it('does not ask again for an answer of which something had come', async () => {
    const { error, asked } = await run([[text('a'), at(5), network], [gone]]);
    expect(error).toBe(gone);
    expect(asked).toEqual(['answer m', 'resume s 5']);
  });

  it('goes on after a reload: with the stream, anew where nothing had come, not at all where it is gone', async () => {
    expect((await run([[done]], { offset: 7 })).asked).toEqual(['resume s 7']);
    expect((await run([[gone], [done]], { offset: 0 })).asked).toEqual(['resume s 0', 'answer m']);
    expect((await run([[gone]], { offset: 0, request: false })).error).toBe(gone);
    expect((await run([[gone]], { offset: 7 })).error).toBe(gone);
  });

  it('ends with an error that trying again does not mend', async () => {
    const { error, slept } = await run([[text('a'), at(5), network], [key]]);
    expect(error).toBe(key);
    expect(slept).toEqual([500]);
  });

  it('hands on what is no error of an engine', async () => {
    const bug = new Error('bug');
    expect((await run([[bug]])).error).toBe(bug);
  });

  it('stops while it waits', async () => {
    const stop = new AbortController();
    const reason = new Error('stopped');
    const waker = new Waker();
    const fake = engine([[at(5), network]]);
    const followed = follow({ engine: fake, streamId: 's', offset: 0, signal: stop.signal, sleep: waker.sleep });
    const events: FollowEvent[] = [];
    const all = (async () => {
      for await (const event of followed) {
        events.push(event);
        if (event.type === 'lost') setTimeout(() => stop.abort(reason));
      }
    })();
    await expect(all).rejects.toBe(reason);
    expect(events.map(({ type }) => type)).toEqual(['offset', 'lost']);
  });
});

describe('Waker', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('sleeps for as long as it is told, or until it is woken', async () => {
    const waker = new Waker();
    let awake = 0;
    const { signal } = new AbortController();
    void waker.sleep(1000, signal).then(() => ++awake);
    void waker.sleep(9000, signal).then(() => ++awake);
    await vi.advanceTimersByTimeAsync(999);
    expect(awake).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(awake).toBe(1);
    waker.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(awake).toBe(2);
  });
});
