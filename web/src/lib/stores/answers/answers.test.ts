import { beforeEach, describe, expect, it } from 'vitest';
import type { Conversation, Id, Message } from '../../types/conversation.ts';
import { EngineError, type AnswerRequest, type Engine, type EngineEvent, type ToolSpec } from '../../types/engine.ts';
import type { Lease, Leases } from '../../services/lease.ts';
import { Answers } from './answers.ts';
import type { AnswerNews } from './channel.ts';
import type { Deps, Open } from './deps.ts';

const text = (word: string): EngineEvent => ({ type: 'text', text: word });
const at = (offset: number): EngineEvent => ({ type: 'offset', offset });
const done = (reason: 'stop' | 'length' | 'tool_calls' = 'stop'): EngineEvent => ({
  type: 'done',
  reason,
  timings: { promptTokens: 5, cachedTokens: 0, promptMs: 10, answerTokens: 20, answerMs: 1000 },
});
const called = (id: string): EngineEvent => ({ type: 'call', index: 0, id, name: 'calculator', arguments: '{}' });
const away = new EngineError({ kind: 'network', message: 'away' }, true);
const gone = new EngineError({ kind: 'gone', message: 'gone' });

// What is stored, seen by all tabs.
class Store {
  readonly messages = new Map<Id, Message>();
  conversation: Conversation = {
    id: 'c',
    name: '',
    lastModified: 0,
    currNode: 'q',
    pinned: false,
    model: 'm',
    runsOn: 'server',
  };
  order = 0;
  opened = 0;

  constructor() {
    this.put({ id: 'root', parent: null, role: 'root', content: '' });
    this.put({ id: 'q', parent: 'root', role: 'user', content: 'Why is the sky blue?' });
  }

  put(message: Partial<Message> & Pick<Message, 'id' | 'parent' | 'role' | 'content'>): Message {
    const whole: Message = {
      convId: 'c',
      order: ++this.order,
      files: [],
      status: 'done',
      timestamp: Date.now(),
      ...message,
    };
    this.messages.set(whole.id, whole);
    return whole;
  }

  open(): Open {
    ++this.opened;
    const store = this;
    return {
      get conversation() {
        return store.conversation;
      },
      gone: false,
      messages: this.messages,
      pathTo: (id) => {
        const path: Message[] = [];
        for (let at = this.messages.get(id); at && at.parent !== null; at = this.messages.get(at.parent))
          path.unshift(at);
        return path;
      },
      children: (id) => [...this.messages.values()].filter(({ parent }) => parent === id).map((message) => message.id),
      add: async (message) => this.put({ id: `t${this.order}`, ...message }),
      change: async (id, patch) => {
        const before = this.messages.get(id);
        if (!before) return;
        const after = { ...before, ...patch } as Message & Record<string, unknown>;
        for (const [key, value] of Object.entries(patch)) if (value === undefined) delete after[key];
        this.messages.set(id, after);
      },
      close: () => void --this.opened,
    };
  }
}

// Connections in turn: events, an error, or a hold until the signal says so.
type Connection = (EngineEvent | Error | 'hold')[];

class FakeEngine {
  asked: string[] = [];
  requests: AnswerRequest[] = [];
  stopped: string[] = [];
  keptIds: string[] = [];
  script: Connection[] = [];

  async *#play(signal: AbortSignal): AsyncGenerator<EngineEvent> {
    for (const each of this.script.shift() ?? []) {
      if (each instanceof Error) throw each;
      if (each !== 'hold') yield each;
      else
        await new Promise((_, reject) =>
          signal.aborted ? reject(signal.reason) : signal.addEventListener('abort', () => reject(signal.reason)),
        );
    }
  }
  answer(request: AnswerRequest, signal: AbortSignal) {
    this.asked.push(`answer ${request.streamId}`);
    this.requests.push(request);
    return this.#play(signal);
  }
  resume(streamId: string, offset: number, signal: AbortSignal) {
    this.asked.push(`resume ${streamId} ${offset}`);
    return this.#play(signal);
  }
  async kept(ids: string[]) {
    return new Map(ids.filter((id) => this.keptIds.includes(id)).map((id) => [id, { writing: true }]));
  }
  async stop(streamId: string) {
    this.stopped.push(streamId);
  }
  async load() {}
}

class FakeLeases {
  readonly held = new Map<string, string>();
  readonly waiting: (() => void)[] = [];
  of(tab: string): Leases {
    const take = (name: string): Lease | null => {
      if (this.held.has(name)) return null;
      this.held.set(name, tab);
      return {
        release: () => {
          if (this.held.get(name) === tab) this.held.delete(name);
          this.waiting.splice(0).forEach((wake) => wake());
        },
      };
    };
    return {
      hold: (name) => take(name)!,
      tryTake: async (name) => take(name),
      take: async (name, signal) => {
        for (;;) {
          const lease = take(name);
          if (lease) return lease;
          await new Promise<void>((resolve) => this.waiting.push(resolve));
          signal.throwIfAborted();
        }
      },
    };
  }
  // The tab ends without a word.
  end(tab: string) {
    for (const [name, holder] of [...this.held]) if (holder === tab) this.held.delete(name);
    this.waiting.splice(0).forEach((wake) => wake());
  }
}

let store: Store;
let engine: FakeEngine;
let leases: FakeLeases;
let listeners: { tab: string; heard: (news: AnswerNews) => void }[];
let always: string[];
let inChat: string[];
let rates: number[];
let offered: ToolSpec[];
let ids: number;
let refusal: string | undefined;

function tab(name: string): Answers {
  const deps: Deps = {
    open: async () => store.open(),
    writing: async () =>
      [...store.messages.values()]
        .filter(({ status }) => status === 'writing')
        .map(({ id, convId }) => ({ convId, messageId: id })),
    stored: async (id) => store.messages.get(id),
    setup: (conversation, other) => {
      const model = other.model ?? conversation.model;
      return {
        choice: model === undefined ? undefined : { model, runsOn: other.runsOn ?? conversation.runsOn ?? 'server' },
        state: 'loaded',
        parameters: { temperature: 0 },
        tools: offered,
        system: '',
        refuses: () => refusal,
      };
    },
    engine: () => engine as unknown as Engine,
    runTool: async () => '42',
    measured: (_, rate) => void rates.push(rate),
    getFile: async () => undefined,
    allowed: {
      always: () => always,
      allowAlways: (tool) => void always.push(tool),
      inChat: async () => inChat,
      allowInChat: async (_, tool) => void inChat.push(tool),
    },
    leases: leases.of(name),
    channel: {
      tell: (news) => listeners.filter((each) => each.tab !== name).forEach(({ heard }) => heard(news)),
      hear: (heard) => {
        listeners.push({ tab: name, heard });
        return () => undefined;
      },
    },
    sleep: async () => undefined,
    frame: (render) => void setTimeout(render),
    newId: () => `${name}${++ids}`,
  };
  const answers = new Answers(deps);
  answers.listen();
  return answers;
}

async function until(test: () => unknown): Promise<void> {
  for (let i = 0; i < 5000; ++i) {
    if (test()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error('It did not come about.');
}

const message = (id: Id) => store.messages.get(id)!;
const ended = (answers: Answers, id: Id) => until(() => !answers.live(id) && message(id).status !== 'writing');
const toOpen = () => ({ conversation: store.conversation });

beforeEach(() => {
  refusal = undefined;
  [store, engine, leases] = [new Store(), new FakeEngine(), new FakeLeases()];
  [listeners, always, inChat, rates, offered, ids] = [[], [], [], [], [], 0];
});

describe('an answer', () => {
  it('is written, timed and measured', async () => {
    engine.script = [
      [{ type: 'reading', done: 5, total: 5, cached: 0, ms: 10 }, text('Ray'), at(10), text('leigh'), at(20), done()],
    ];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    expect(message(id)).toMatchObject({
      parent: 'q',
      role: 'assistant',
      status: 'writing',
      model: 'm',
      streamId: id,
      offset: 0,
    });
    expect(answers.busy).toEqual(new Set(['c']));
    await ended(answers, id);
    expect(message(id)).toMatchObject({
      content: 'Rayleigh',
      status: 'done',
      offset: 20,
      timings: { promptTokens: 5, answerTokens: 20 },
    });
    expect(engine.requests[0]).toMatchObject({
      model: 'm',
      messages: [{ role: 'user', content: 'Why is the sky blue?' }],
      continues: false,
    });
    expect(rates).toEqual([20]);
    await until(() => store.opened === 0 && leases.held.size === 0);
  });

  it('shows what is lost and found again', async () => {
    engine.script = [[text('a'), at(5), away], ['hold']];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await until(() => answers.live(id)?.phase === 'lost');
    expect(answers.live(id)).toMatchObject({ trouble: { kind: 'network' }, text: 'a' });
    await answers.stop(id);
    await ended(answers, id);
    expect(engine.asked).toEqual([`answer ${id}`, `resume ${id} 5`]);
  });

  it('is kept as far as it came where the reader stops it, and the server is told', async () => {
    engine.script = [[text('half'), at(5), text(' a word'), 'hold']];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await until(() => answers.live(id)?.text === 'half a word');
    await answers.stopIn('c');
    await ended(answers, id);
    expect(message(id)).toMatchObject({ content: 'half a word', status: 'stopped' });
    expect(engine.stopped).toEqual([id]);
  });

  it.each<[string, Connection[], Partial<Message>]>([
    ['the context is full', [[text('a'), at(5), done('length')]], { content: 'a', status: 'cut' }],
    ['the server no longer keeps it', [[text('a'), at(5), away], [gone]], { content: 'a', status: 'cut' }],
    [
      'the engine fails in the middle',
      [[text('a'), at(5), new EngineError({ kind: 'engine', message: 'boom' })]],
      { content: 'a', status: 'cut', error: { kind: 'engine', message: 'boom' } },
    ],
    [
      'the prompt is too long',
      [[new EngineError({ kind: 'context', message: 'too long', promptTokens: 9, contextTokens: 8 })]],
      {
        content: '',
        status: 'failed',
        error: { kind: 'context', message: 'too long', promptTokens: 9, contextTokens: 8 },
      },
    ],
    [
      'nobody answers',
      Array.from({ length: 7 }, () => [away]),
      { content: '', status: 'failed', error: { kind: 'network', message: 'away' } },
    ],
  ])('says so where %s', async (_, script, expected) => {
    engine.script = script;
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await ended(answers, id);
    expect(message(id)).toMatchObject(expected);
  });

  it('needs a model', async () => {
    const { model: _, ...conversation } = store.conversation;
    store.conversation = conversation;
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await ended(answers, id);
    expect(message(id)).toMatchObject({ status: 'failed', error: { kind: 'model' } });
  });

  it('is given up where its message is deleted', async () => {
    engine.script = [[text('a'), at(5), 'hold']];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await until(() => answers.live(id)?.text === 'a');
    store.messages.delete(id);
    await until(() => engine.stopped.includes(id));
    await until(() => !answers.live(id));
    expect(store.messages.has(id)).toBe(false);
  });

  it('is one of several at once', async () => {
    engine.script = [
      [text('one'), at(5), 'hold'],
      [text('two'), at(5), done()],
    ];
    const answers = tab('a');
    const first = await answers.start(toOpen(), 'q');
    const second = await answers.start(toOpen(), 'q', { model: 'other' });
    await ended(answers, second);
    expect(message(second)).toMatchObject({ content: 'two', model: 'other', parent: 'q' });
    expect(answers.live(first)).toMatchObject({ text: 'one' });
    await answers.stop(first);
    await ended(answers, first);
  });
});

describe('continuing', () => {
  it('goes on in the same message, with a stream of its own', async () => {
    store.put({
      id: 'x',
      parent: 'q',
      role: 'assistant',
      content: 'Half',
      status: 'stopped',
      model: 'm2',
      streamId: 'x',
      offset: 99,
    });
    engine.script = [[text(' more'), at(7), done()]];
    const answers = tab('a');
    expect(await answers.start(toOpen(), 'q', { continues: 'x' })).toBe('x');
    await ended(answers, 'x');
    expect(message('x')).toMatchObject({ content: 'Half more', status: 'done', offset: 7 });
    expect(engine.requests[0]).toMatchObject({ model: 'm2', continues: true });
    expect(engine.requests[0]!.messages.at(-1)).toEqual({ role: 'assistant', content: 'Half' });
    expect(message('x').streamId).toMatch(/^x-/);
    expect(engine.asked).toEqual([`answer ${message('x').streamId}`]);
  });

  it('takes up the stream where the server still has it', async () => {
    const error = { kind: 'key' as const, message: 'no key' };
    store.put({
      id: 'x',
      parent: 'q',
      role: 'assistant',
      content: 'Half',
      status: 'cut',
      streamId: 'x',
      offset: 99,
      error,
    });
    engine.keptIds = ['x'];
    engine.script = [[text(' more'), at(120), done()]];
    const answers = tab('a');
    await answers.start(toOpen(), 'q', { continues: 'x' });
    await ended(answers, 'x');
    expect(message('x')).toMatchObject({ content: 'Half more', offset: 120 });
    expect(message('x')).not.toHaveProperty('error');
    expect(engine.asked).toEqual(['resume x 99']);
  });

  it('has no times of before where it breaks off', async () => {
    const timings = { promptTokens: 1, cachedTokens: 0, promptMs: 1, answerTokens: 9, answerMs: 9, firstTokenMs: 1 };
    store.put({ id: 'x', parent: 'q', role: 'assistant', content: 'Half', status: 'cut', streamId: 'x', timings });
    engine.script = [[text(' more'), at(7), away], [gone]];
    const answers = tab('a');
    await answers.start(toOpen(), 'q', { continues: 'x' });
    await ended(answers, 'x');
    expect(message('x')).toMatchObject({ content: 'Half more', status: 'cut' });
    expect(message('x')).not.toHaveProperty('timings');
  });

  it('begins anew where nothing had come', async () => {
    store.put({ id: 'x', parent: 'q', role: 'assistant', content: '', status: 'failed' });
    engine.script = [[text('A'), at(7), done()]];
    const answers = tab('a');
    await answers.start(toOpen(), 'q', { continues: 'x' });
    await ended(answers, 'x');
    expect(engine.requests[0]).toMatchObject({ continues: false, messages: [{ role: 'user' }] });
  });
});

describe('tools', () => {
  const first = (): Connection => [called('1'), at(5), done('tool_calls')];
  const last = (): Connection => [text('It is 42.'), at(5), done()];

  it('are called once permitted, and the model goes on with the result', async () => {
    engine.script = [first(), last()];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await until(() => answers.live(id)?.permission);
    expect(answers.live(id)).toMatchObject({ phase: 'tool', permission: { call: { name: 'calculator' } } });
    answers.live(id)!.permission!.grant('once');
    await until(() =>
      [...store.messages.values()].some(({ content, status }) => content === 'It is 42.' && status === 'done'),
    );
    const result = [...store.messages.values()].find(({ role }) => role === 'tool')!;
    expect(result).toMatchObject({ parent: id, toolCallId: '1', content: '42', status: 'done' });
    expect(engine.requests[1]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect([always, inChat]).toEqual([[], []]);
    await until(() => answers.busy.size === 0);
  });

  it('are not called where the reader denies it, and the model is told', async () => {
    engine.script = [first(), last()];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await until(() => answers.live(id)?.permission);
    answers.live(id)!.permission!.deny();
    await until(() => answers.busy.size === 0);
    expect([...store.messages.values()].find(({ role }) => role === 'tool')!.content).toContain('not allow');
  });

  it.each(['chat', 'always'] as const)('are asked for no more once permitted for %s', async (scope) => {
    engine.script = [first(), [called('2'), at(5), done('tool_calls')], last()];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await until(() => answers.live(id)?.permission);
    answers.live(id)!.permission!.grant(scope);
    await until(() => answers.busy.size === 0);
    expect(engine.requests).toHaveLength(3);
    expect([always, inChat]).toEqual(scope === 'always' ? [['calculator'], []] : [[], ['calculator']]);
  });

  it('end with a stop while the reader is asked; what is left can be made later', async () => {
    engine.script = [first(), last()];
    const answers = tab('a');
    const id = await answers.start(toOpen(), 'q');
    await until(() => answers.live(id)?.permission);
    await answers.stop(id);
    await until(() => answers.busy.size === 0);
    expect([...store.messages.values()].some(({ role }) => role === 'tool')).toBe(false);
    always.push('calculator');
    await answers.goOn(toOpen(), id);
    await until(() => answers.busy.size === 0);
    expect([...store.messages.values()].some(({ content }) => content === 'It is 42.')).toBe(true);
  });

  it('are called behind a continued answer as well', async () => {
    always.push('calculator');
    store.put({ id: 'x', parent: 'q', role: 'assistant', content: 'Let me see.', status: 'stopped' });
    engine.script = [first(), last()];
    const answers = tab('a');
    await answers.start(toOpen(), 'q', { continues: 'x' });
    await until(() => answers.busy.size === 0);
    const after = [...store.messages.values()].find(({ content }) => content === 'It is 42.')!;
    expect(message(after.parent!)).toMatchObject({ role: 'tool', parent: 'x' });
  });

  const half = { id: '1', name: 'calculator', arguments: '{"expression":"1' };
  const piece = (text: string, id?: string): EngineEvent =>
    ({ type: 'call', index: 0, arguments: text, ...(id === undefined ? {} : { id, name: 'calculator' }) });

  it('that had come in part are written anew where the answer is continued', async () => {
    always.push('calculator');
    store.put({
      id: 'x',
      parent: 'q',
      role: 'assistant',
      content: 'So',
      status: 'stopped',
      toolCalls: [half],
      offset: 9,
    });
    engine.script = [[piece('{"expression":"1', '2'), piece('+2"}'), at(7), done('tool_calls')], last()];
    const answers = tab('a');
    await answers.start(toOpen(), 'q', { continues: 'x' });
    await until(() => answers.busy.size === 0);
    expect(message('x').toolCalls).toEqual([{ ...half, id: '2', arguments: '{"expression":"1+2"}' }]);
    expect([...store.messages.values()].find(({ role }) => role === 'tool')).toMatchObject({ toolCallId: '2' });
    // Nothing of it is left where the model goes on otherwise.
    store.put({ id: 'y', parent: 'q', role: 'assistant', content: 'So', status: 'stopped', toolCalls: [half] });
    engine.script = [last()];
    await answers.start(toOpen(), 'q', { continues: 'y' });
    await ended(answers, 'y');
    expect(message('y')).not.toHaveProperty('toolCalls');
  });

  it('that were made stay before those of the continued answer', async () => {
    always.push('calculator');
    const made = { ...half, arguments: '{}' };
    store.put({
      id: 'x',
      parent: 'q',
      role: 'assistant',
      content: 'So',
      status: 'stopped',
      toolCalls: [made, { ...half, id: '2' }],
    });
    store.put({ id: 'r', parent: 'x', role: 'tool', content: '42', toolCallId: '1' });
    engine.script = [[piece('{"a":1}', '3'), at(7), done('tool_calls')], last()];
    const answers = tab('a');
    await answers.start(toOpen(), 'q', { continues: 'x' });
    await until(() => answers.busy.size === 0);
    expect(message('x').toolCalls).toEqual([made, { ...half, id: '3', arguments: '{"a":1}' }]);
    expect([...store.messages.values()].find(({ toolCallId }) => toolCallId === '3')).toMatchObject({ parent: 'r' });
  });

  it('that had come in part go on where the stream is taken up', async () => {
    always.push('calculator');
    const error = { kind: 'network' as const, message: 'away' };
    store.put({
      id: 'x',
      parent: 'q',
      role: 'assistant',
      content: 'So',
      status: 'cut',
      toolCalls: [half],
      streamId: 'x',
      offset: 9,
      error,
    });
    engine.keptIds = ['x'];
    engine.script = [[piece('+2"}'), at(70), done('tool_calls')], last()];
    const answers = tab('a');
    await answers.start(toOpen(), 'q', { continues: 'x' });
    await until(() => answers.busy.size === 0);
    expect(engine.asked[0]).toBe('resume x 9');
    expect(message('x').toolCalls).toEqual([{ ...half, arguments: '{"expression":"1+2"}' }]);
  });

  it('are not called without end', async () => {
    always.push('calculator');
    engine.script = Array.from({ length: 100 }, (_, i) => [called(`${i}`), at(5), done('tool_calls')]);
    const answers = tab('a');
    await answers.start(toOpen(), 'q');
    await until(() => [...store.messages.values()].some(({ error }) => error?.kind === 'refused'));
    expect(engine.requests.length).toBeLessThan(20);
    await until(() => answers.busy.size === 0 && store.opened === 0 && leases.held.size === 0);
  });
});

describe('files', () => {
  it('that the model cannot take are refused before anything is sent', async () => {
    refusal = 'The model m sees no images.';
    const answers = tab('a');
    await answers.start(toOpen(), 'q');
    await until(() => answers.busy.size === 0);
    const failed = [...store.messages.values()].find(({ status }) => status === 'failed')!;
    expect(failed.error).toEqual({ kind: 'media', message: refusal });
    expect(engine.requests).toEqual([]);
  });
});

describe('tabs', () => {
  it('take up after a reload what was being written', async () => {
    store.put({
      id: 'x',
      parent: 'q',
      role: 'assistant',
      content: 'Ha',
      status: 'writing',
      streamId: 'x',
      offset: 7,
      model: 'm',
    });
    store.put({ id: 'y', parent: 'q', role: 'assistant', content: 'Ha', status: 'writing', model: 'm' });
    store.put({
      id: 'old',
      parent: 'q',
      role: 'assistant',
      content: '',
      status: 'writing',
      streamId: 'old',
      offset: 0,
      timestamp: 1,
    });
    engine.script = [[text('lf'), at(9), done()]];
    const answers = tab('a');
    await answers.resumeAll();
    await ended(answers, 'x');
    expect(message('x')).toMatchObject({ content: 'Half', status: 'done' });
    // Written by the tab itself, or begun long ago: not to be had any more.
    expect([message('y').status, message('old').status]).toEqual(['cut', 'cut']);
    expect(engine.asked).toEqual(['resume x 7']);
    await until(() => store.opened === 0);
  });

  it('leave an answer to the one that writes it, show it, and stop it', async () => {
    engine.script = [[text('a'), at(5), 'hold']];
    const [a, b] = [tab('a'), tab('b')];
    const id = await a.start(toOpen(), 'q');
    await until(() => b.live(id));
    expect(b.live(id)).toMatchObject({ phase: 'elsewhere' });
    await b.resumeAll();
    expect(engine.asked).toHaveLength(1);
    await until(() => a.live(id)?.text === 'a');
    await b.stop(id);
    await ended(a, id);
    await until(() => !b.live(id));
    expect(message(id)).toMatchObject({ content: 'a', status: 'stopped' });
    expect(engine.stopped).toEqual([id]);
  });

  it('take it over where that one ends', async () => {
    engine.script = [
      [text('a'), at(5), 'hold'],
      [text('b'), at(9), done()],
    ];
    const [a, b] = [tab('a'), tab('b')];
    const id = await a.start(toOpen(), 'q');
    await until(() => b.live(id) && a.live(id)?.text === 'a');
    store.messages.set(id, { ...message(id), content: 'a', offset: 5 });
    leases.end('a');
    await until(() => message(id).status === 'done');
    expect(message(id).content).toBe('ab');
    expect(engine.asked).toEqual([`answer ${id}`, `resume ${id} 5`]);
  });
});
