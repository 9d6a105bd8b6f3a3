import { describe, expect, it } from 'vitest';
import { HttpEngine } from './http_engine.ts';

type Reply = (init: RequestInit) => Response;

function engineOver(replies: Record<string, Reply>): { engine: HttpEngine; asked: string[] } {
  const asked: string[] = [];
  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}) => {
    const name = `${init.method ?? 'GET'} ${String(input)}`;
    asked.push(name);
    const reply = replies[name];
    if (!reply) return Response.json({ error: { message: 'There is nothing at this path.' } }, { status: 404 });
    return reply(init);
  };
  return { engine: new HttpEngine({ base: './', key: () => 'k', fetch }), asked };
}

const as = (value: unknown) => () => Response.json(value);
const caps = { supports_tools: true, supports_reasoning_effort: true, supports_thinking_switch: true };
const props = {
  build_info: 'b700',
  default_generation_settings: { params: { temperature: 0.8 }, n_ctx: 4096 },
  modalities: { vision: true, audio: false },
  chat_template_caps: caps,
};
const tags = {
  models: [
    {
      name: 'm:latest',
      size: 7,
      details: { family: 'llama', quantization_level: 'Q4_1', context_length: 8192 },
      capabilities: ['completion', 'thinking'],
    },
  ],
};

describe('HttpEngine.models', () => {
  it('puts together what a server with one model tells', async () => {
    const data = [{ id: 'm', aliases: ['m'], meta: { n_ctx: 4096, n_ctx_train: 8192, size: 9, ftype: 'Q4_1' } }];
    const { engine } = engineOver({
      'GET ./props': as(props),
      'GET ./v1/models': as({ data }),
      'GET ./api/tags': as(tags),
    });
    expect(await engine.models()).toEqual([
      {
        id: 'm',
        runsOn: 'server',
        state: 'loaded',
        images: true,
        audio: false,
        thinks: true,
        tools: true,
        thinkingSwitch: true,
        efforts: ['low', 'medium', 'high'],
        here: true,
        switchable: false,
        removable: false,
        defaults: { temperature: 0.8 },
        architecture: 'llama',
        quantization: 'Q4_1',
        bytes: 9,
        contextTokens: 4096,
        trainedContextTokens: 8192,
      },
    ]);
    expect(engine.state).toEqual({ reachable: true, kind: 'server', version: 'b700' });
  });

  it('asks a router for what is loaded, and loads nothing for it', async () => {
    const data = [
      { id: 'm', status: { value: 'unloaded' }, can_remove: true },
      { id: 'b', status: { value: 'loaded' } },
      { id: 'c', status: { value: 'unloaded', failed: true, error: 'It does not fit.' } },
    ];
    const { engine, asked } = engineOver({
      'GET ./props': as({ role: 'router', build_info: 'b700' }),
      'GET ./v1/models': as({ data }),
      'GET ./api/tags': as(tags),
      'GET ./props?model=b&autoload=false': as(props),
    });
    expect(await engine.models()).toMatchObject([
      { id: 'm', state: 'unloaded', thinks: true, tools: false, bytes: 7, switchable: true, removable: true },
      { id: 'b', state: 'loaded', tools: true, removable: false },
      { id: 'c', state: 'failed', why: 'It does not fit.' },
    ]);
    expect(engine.state.kind).toBe('router');
    expect(asked.filter((each) => each.includes('model='))).toEqual(['GET ./props?model=b&autoload=false']);
  });

  it('knows a static host, a server that wants a key, and one that is away', async () => {
    const host = engineOver({
      'GET ./props': () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }),
    });
    await expect(host.engine.models()).rejects.toThrow();
    expect(host.engine.state).toEqual({ reachable: false, kind: 'none' });
    const bare = engineOver({});
    await expect(bare.engine.models()).rejects.toThrow();
    expect(bare.engine.state.kind).toBe('none');
    const error = { message: 'The request has no valid API key.', type: 'authentication_error' };
    const locked = engineOver({ 'GET ./props': () => Response.json({ error }, { status: 401 }) });
    await expect(locked.engine.models()).rejects.toMatchObject({ fault: { kind: 'key' } });
    expect(locked.engine.state).toMatchObject({ reachable: false, kind: 'server', why: { kind: 'key' } });
    const away = engineOver({
      'GET ./props': () => {
        throw new TypeError('Failed to fetch');
      },
    });
    await expect(away.engine.models()).rejects.toMatchObject({ fault: { kind: 'network' }, canResume: true });
    expect(away.engine.state).toMatchObject({ reachable: false, kind: 'server' });
  });
});

describe('HttpEngine.download', () => {
  const routes = {
    'GET ./props': as({ role: 'router' }),
    'GET ./v1/models': as({ data: [] }),
    'GET ./api/tags': as(tags),
  };
  const lines =
    (...all: unknown[]) =>
    () =>
      new Response(all.map((line) => `${JSON.stringify(line)}\n`).join(''));

  it('adds up what has come of all parts', async () => {
    const pulled = lines(
      { status: 'pulling manifest' },
      { status: 'pulling a', digest: 'a', total: 100, completed: 40 },
      { status: 'pulling b', digest: 'b', total: 10, completed: 10 },
      { status: 'pulling a', digest: 'a', total: 100, completed: 100 },
      { status: 'success' },
    );
    const { engine } = engineOver({ ...routes, 'POST ./api/pull': pulled });
    const seen: string[] = [];
    const end = engine.watch((models) => {
      const model = models.find(({ id }) => id === 'hf.co/a/b');
      if (model?.progress) seen.push(`${model.state} ${model.progress.doneBytes}/${model.progress.totalBytes}`);
    });
    await engine.download('hf.co/a/b', new AbortController().signal);
    end();
    const steps = ['downloading 0/0', 'downloading 40/100', 'downloading 50/110', 'downloading 110/110'];
    expect([...new Set(seen)]).toEqual(steps);
  });

  it('lists a model once that is fetched anew', async () => {
    const pulled = lines({ status: 'pulling a', digest: 'a', total: 100, completed: 40 }, { status: 'success' });
    const data = as({ data: [{ id: 'm', status: { value: 'loaded' } }] });
    const { engine } = engineOver({ ...routes, 'GET ./v1/models': data, 'POST ./api/pull': pulled });
    await engine.models();
    const seen: string[] = [];
    const end = engine.watch((models) => seen.push(models.map(({ id, state }) => `${id} ${state}`).join()));
    await engine.download('m', new AbortController().signal);
    end();
    expect([...new Set(seen)]).toEqual(['m downloading', 'm loaded']);
  });

  it.each([
    ['an error in the middle', [{ error: 'no such model' }], { fault: { kind: 'model', message: 'no such model' } }],
    ['an end too soon', [{ status: 'pulling manifest' }], { fault: { kind: 'network' }, canResume: true }],
  ])('fails at %s', async (_, all, expected) => {
    const { engine } = engineOver({ ...routes, 'POST ./api/pull': lines(...all) });
    await expect(engine.download('x', new AbortController().signal)).rejects.toMatchObject(expected);
  });
});

describe('HttpEngine.count', () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }];

  it('asks in one step where the server can, else in two, else not at all', async () => {
    const one = engineOver({ 'POST ./v1/chat/completions/input_tokens': as({ input_tokens: 31 }) });
    expect(await one.engine.count('m', messages)).toBe(31);
    const two = engineOver({ 'POST ./apply-template': as({ prompt: 'x' }), 'POST ./tokenize': as({ tokens: [1, 2] }) });
    expect(await two.engine.count('m', messages)).toBe(2);
    expect(await engineOver({}).engine.count('m', messages)).toBeUndefined();
  });
});
