import { describe, expect, it } from 'vitest';
import type { EngineEvent } from '../../types/engine.ts';
import type { ServerAddress } from './connection.ts';
import { resumeStream, stopStream } from './kept.ts';

type Reply = () => Response;

function server(replies: Record<string, Reply[]>): { address: ServerAddress; asked: string[] } {
  const asked: string[] = [];
  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}) => {
    const name = `${init.method ?? 'GET'} ${String(input)}`;
    asked.push(name);
    const reply = replies[name]?.shift();
    if (!reply) throw new TypeError(`fetch failed: ${name}`);
    return reply();
  };
  return { address: { base: './', key: () => 'secret', fetch }, asked };
}

const chunk = (text: string) =>
  `data: {"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}]}\n\n`;
const stream = (text: string) => () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
const status = (code: number) => () =>
  Response.json({ error: { code, message: `status ${code}`, type: 'x' } }, { status: code });
const kept =
  (first: number, total: number, isDone = false) =>
  () =>
    Response.json([{ conversation_id: 'a b', is_done: isDone, total_bytes: total, first_byte: first }]);

async function resume(replies: Record<string, Reply[]>, offset: number) {
  const { address, asked } = server(replies);
  const events: EngineEvent[] = [];
  try {
    for await (const event of resumeStream(address, 'a b', offset, new AbortController().signal)) events.push(event);
  } catch (error) {
    return { events, asked, error };
  }
  return { events, asked };
}

const from = (offset: number) => `GET ./v1/stream?conv_id=a%20b&from=${offset}`;
const LOOKUP = 'POST ./v1/streams/lookup';
const words = (events: EngineEvent[]) => events.map((event) => (event.type === 'text' ? event.text : event.type));

describe('resumeStream', () => {
  it('goes on behind the offset, and counts from there', async () => {
    const { events, error } = await resume({ [from(100)]: [stream(`${chunk('x')}data: [DONE]\n\n`)] }, 100);
    expect(error).toBeUndefined();
    expect(words(events)).toEqual(['x', 'offset', 'done']);
    expect(events[1]).toEqual({ type: 'offset', offset: 100 + chunk('x').length });
  });

  it('marks a gap where the server has dropped what comes next, and goes on at the next event', async () => {
    const rest = `"half an event"\n\n${chunk('y')}data: [DONE]\n\n`;
    const { events, asked } = await resume(
      { [from(10)]: [status(400)], [LOOKUP]: [kept(5000, 9000)], [from(5000)]: [stream(rest)] },
      10,
    );
    expect(words(events)).toEqual(['gap', 'y', 'offset', 'done']);
    expect(asked).toEqual([from(10), LOOKUP, from(5000)]);
  });

  it.each([
    ['is unknown', { [from(10)]: [status(404)] }],
    ['is shorter than what is here: another one', { [from(10)]: [status(400)], [LOOKUP]: [kept(0, 5)] }],
    ['vanishes between two questions', { [from(10)]: [status(400)], [LOOKUP]: [() => Response.json([])] }],
    ['was cut by the server', { [from(10)]: [stream('')], [LOOKUP]: [kept(0, 10, true)] }],
  ])('is gone where the stream %s', async (_, replies) => {
    expect((await resume(replies as Record<string, Reply[]>, 10)).error).toMatchObject({
      fault: { kind: 'gone' },
      canResume: false,
    });
  });

  it.each([
    ['the server is starting', [status(503)]],
    ['a proxy finds no server', [status(502)]],
    ['nothing answers', []],
  ])('can be tried again where %s', async (_, replies) => {
    expect((await resume({ [from(10)]: replies, [LOOKUP]: [kept(0, 10)] }, 10)).error).toMatchObject({
      canResume: true,
    });
  });

  it('says that the key is no longer good', async () => {
    expect((await resume({ [from(10)]: [status(401)] }, 10)).error).toMatchObject({
      fault: { kind: 'key' },
      canResume: false,
    });
  });
});

describe('stopStream', () => {
  it('asks the server to end it', async () => {
    const name = 'DELETE ./v1/stream?conv_id=a%20b';
    const { address, asked } = server({ [name]: [() => new Response(null, { status: 204 })] });
    await stopStream(address, 'a b');
    expect(asked).toEqual([name]);
  });
});
