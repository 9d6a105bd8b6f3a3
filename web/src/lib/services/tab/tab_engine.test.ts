import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnswerRequest, EngineEvent } from '../../types/engine.ts';
import { abilityOfTab, tooLarge } from './ability.ts';
import { tabError } from './faults.ts';
import type { PunaPackage, StoredModel } from './package.ts';
import { TabEngine } from './tab_engine.ts';

const digest = 'b179';

const stored = (name: string, id: string, bytes = 1, totalBytes = bytes): StoredModel => ({
  name,
  id,
  bytes,
  totalBytes,
  complete: bytes === totalBytes,
  mmproj: null,
  encoder: false,
});

function fakePackage(changes: Partial<Awaited<ReturnType<PunaPackage['capabilities']>>> = {}, more: StoredModel[] = []) {
  const loads: { source: unknown; share: boolean; mmproj?: string }[] = [];
  const closed: string[] = [];
  const deleted: string[] = [];
  let fail: Error | undefined;
  let held: Promise<void> | undefined;
  const puna: PunaPackage = {
    async load(source, { share, signal, onProgress, mmproj }) {
      loads.push({ source, share, ...(mmproj === undefined ? {} : { mmproj }) });
      onProgress({ stage: 'download', doneBytes: 1, totalBytes: 2 });
      const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      await Promise.race([held ?? new Promise((resolve) => setTimeout(resolve, 5)), aborted]);
      signal.throwIfAborted();
      if (fail) throw fail;
      onProgress({ stage: 'load', doneBytes: 2, totalBytes: 2 });
      const name = String(source);
      return {
        info: {
          name,
          architecture: 'llama',
          device: { type: 'cpu', name: 'cpu', why: '' },
          context: 64,
          trained_context: 128,
          chat: true,
          embeddings: false,
          media: mmproj === undefined ? null : { images: true, audio: false },
        },
        async *chat() {
          yield { choices: [{ delta: { content: 'Hi' }, finish_reason: null }] };
          yield {
            choices: [{ delta: {}, finish_reason: 'stop' }],
            usage: { prompt_tokens: 3, completion_tokens: 1 },
            timings: { predicted_n: 1, predicted_ms: 10 },
          };
        },
        countTokens: async (body) => JSON.stringify(body).length,
        close: async () => void closed.push(name),
      };
    },
    capabilities: async () => ({
      secureContext: true,
      gpu: { software: false },
      simd: true,
      threads: 1,
      storage: { opfs: true, cache: true, indexeddb: true, usedBytes: 1, quotaBytes: 10 },
      ...changes,
    }),
    serviceWorker: async () => ({ serve: () => () => undefined }),
    models: {
      catalogue: [{ name: 'smollm2:latest', family: 'llama', fileType: 'Q4_1', bytes: 100, sha256: digest }],
      list: async () => [
        stored('smollm2:latest', digest, 100),
        { ...stored('m.gguf', 'https://host/m.gguf', 5, 10), mmproj: 'https://host/p.gguf' },
        { ...stored('p.gguf', 'https://host/p.gguf'), encoder: true },
        ...more,
      ],
      delete: async (id) => deleted.push(id),
    },
  };
  // Loads take until what this gives is called.
  const hold = () => {
    let release: () => void;
    held = new Promise((resolve) => (release = resolve));
    return () => ((held = undefined), release());
  };
  return { puna, loads, closed, deleted, hold, failWith: (error: Error) => (fail = error) };
}

beforeEach(() => vi.stubGlobal('isSecureContext', true));
afterEach(() => void vi.unstubAllGlobals());

describe('abilityOfTab', () => {
  it('says what lacks and what would help', async () => {
    const { puna } = fakePackage();
    expect(await abilityOfTab(async () => puna)).toMatchObject({ able: true, device: 'gpu', quotaBytes: 10 });
    expect(await abilityOfTab(async () => fakePackage({ gpu: null }).puna)).toMatchObject({
      able: true,
      device: 'cpu',
      help: expect.any(String),
    });
    expect(await abilityOfTab(async () => fakePackage({ simd: false }).puna)).toMatchObject({
      able: false,
      lack: 'wasm',
    });
    const storage = { opfs: false, cache: false, indexeddb: false, usedBytes: null, quotaBytes: null };
    expect(await abilityOfTab(async () => fakePackage({ storage }).puna)).toMatchObject({
      able: false,
      lack: 'private',
    });
    expect(await abilityOfTab(() => Promise.reject(new Error('404')))).toMatchObject({ able: false, lack: 'absent' });
    vi.stubGlobal('isSecureContext', false);
    expect(await abilityOfTab(async () => puna)).toMatchObject({
      able: false,
      lack: 'insecure',
      why: expect.stringMatching(/\.$/),
    });
  });

  it('names the numbers where a model is too large', () => {
    expect(tooLarge(5 * 2 ** 30, { able: true, device: 'cpu' })).toContain('5.0 GiB');
    expect(tooLarge(3 * 2 ** 30, { able: true, device: 'gpu', memoryBytes: 4 * 2 ** 30 })).toContain('4.0 GiB');
    expect(tooLarge(2 ** 30, { able: true, device: 'gpu', memoryBytes: 4 * 2 ** 30 })).toBeUndefined();
    // Browsers tell of no more than 8 GiB.
    expect(tooLarge(20 * 2 ** 30, { able: true, device: 'gpu', memoryBytes: 8 * 2 ** 30 })).toBeUndefined();
  });
});

describe('TabEngine', () => {
  const request = (model: string) =>
    ({ model, messages: [], parameters: {}, tools: [], continues: false, streamId: 's' }) satisfies AnswerRequest;
  const signal = new AbortController().signal;

  it('lists the catalogue and what is stored', async () => {
    const engine = new TabEngine(async () => fakePackage().puna);
    expect(await engine.models()).toMatchObject([
      { id: 'smollm2:latest', here: true, removable: true, state: 'unloaded', bytes: 100 },
      { id: 'https://host/m.gguf', here: false, bytes: 10 },
    ]);
  });

  it('loads a model for its answer, shared, and another in its place', async () => {
    const { puna, loads, closed } = fakePackage();
    const engine = new TabEngine(async () => puna);
    const states = new Set<string>();
    engine.watch((models) => models.forEach(({ id, state }) => states.add(`${id} ${state}`)));
    await engine.models();
    const events: EngineEvent[] = [];
    for await (const event of engine.answer(request('smollm2:latest'), signal)) events.push(event);
    expect(events).toEqual([
      { type: 'text', text: 'Hi' },
      {
        type: 'done',
        reason: 'stop',
        timings: { promptTokens: 3, cachedTokens: 0, promptMs: 0, answerTokens: 1, answerMs: 10 },
      },
    ]);
    expect([...states]).toEqual(
      expect.arrayContaining(['smollm2:latest downloading', 'smollm2:latest loading', 'smollm2:latest loaded']),
    );
    expect(await engine.count('smollm2:latest', [{ role: 'user', content: 'a b c' }])).toBeGreaterThan(3);
    expect(await engine.count('https://host/m.gguf', [])).toBeUndefined();
    await engine.load('https://host/m.gguf');
    expect(closed).toEqual(['smollm2:latest']);
    expect(loads).toEqual([
      { source: 'smollm2:latest', share: true },
      { source: 'https://host/m.gguf', share: true },
    ]);
  });

  it('knows models of one file name by their addresses, loads and deletes the one that is meant', async () => {
    const at = (owner: string) => `https://huggingface.co/${owner}/r/resolve/main/x.gguf`;
    const more = [stored('x.gguf', at('a')), stored('x.gguf', at('b'), 1, 2), stored('x.gguf', 'kept:x.gguf'), stored('x.gguf', at('b'))];
    const { puna, loads, deleted } = fakePackage({}, more);
    const engine = new TabEngine(async () => puna);
    const listed = (await engine.models()).map(({ id, here }) => [id, here]);
    // Once, where one place has it in part and another whole.
    expect(listed.filter(([id]) => String(id).endsWith('x.gguf'))).toEqual([['hf:a/r/x.gguf', true], ['x.gguf', true], ['hf:b/r/x.gguf', true]]);
    await engine.load('hf:b/r/x.gguf');
    expect(loads.at(-1)?.source).toBe('hf:b/r/x.gguf');
    expect((await engine.models()).filter(({ state }) => state === 'loaded').map(({ id }) => id)).toEqual(['hf:b/r/x.gguf']);
    await engine.remove('hf:b/r/x.gguf');
    await engine.remove('x.gguf');
    expect(deleted).toEqual([at('b'), 'kept:x.gguf']);
    // By whichever of its addresses it is asked for, it is one.
    await engine.download(at('a'), signal);
    expect((await engine.models()).filter(({ id }) => id.includes('a/r')).map(({ id, state }) => [id, state])).toEqual([
      ['hf:a/r/x.gguf', 'loaded'],
    ]);
  });

  describe('of several who want a model', () => {
    async function answer(engine: TabEngine, model: string, stop = signal): Promise<string> {
      let text = '';
      for await (const event of engine.answer(request(model), stop)) if (event.type === 'text') text += event.text;
      return text;
    }

    it('one who stops waiting does not stop the load for the others', async () => {
      const { puna, loads, hold } = fakePackage();
      const engine = new TabEngine(async () => puna);
      const release = hold();
      const stop = new AbortController();
      const [stopped, goesOn, byHand] = [answer(engine, 'b', stop.signal), answer(engine, 'b'), engine.load('b')];
      await vi.waitFor(() => expect(loads).toHaveLength(1));
      const reason = new Error('enough');
      stop.abort(reason);
      await expect(stopped).rejects.toBe(reason);
      release();
      expect(await goesOn).toBe('Hi');
      await byHand;
      expect(loads).toHaveLength(1);
    });

    it('the last who stops waiting ends it, and it can be loaded again at once', async () => {
      const { puna, loads, closed, hold } = fakePackage();
      const engine = new TabEngine(async () => puna);
      const release = hold();
      const stop = new AbortController();
      const both = [answer(engine, 'b', stop.signal), engine.load('b', stop.signal)];
      await vi.waitFor(() => expect(loads).toHaveLength(1));
      stop.abort(new Error('enough'));
      for (const each of both) await expect(each).rejects.toThrow('enough');
      release();
      expect(await answer(engine, 'b')).toBe('Hi');
      expect([loads.length, closed]).toEqual([2, []]);
    });

    it('one who wants another model waits for those who wait for the first', async () => {
      const { puna, loads, closed, hold } = fakePackage();
      const engine = new TabEngine(async () => puna);
      const release = hold();
      const first = answer(engine, 'b');
      await vi.waitFor(() => expect(loads).toHaveLength(1));
      const second = answer(engine, 'c');
      await expect(engine.load('c')).rejects.toMatchObject({ fault: { kind: 'busy' } });
      release();
      expect([await first, await second]).toEqual(['Hi', 'Hi']);
      expect(loads.map(({ source }) => source)).toEqual(['b', 'c']);
      expect(closed).toEqual(['b']);
    });
  });

  it('takes the address of an encoder behind that of a model, which then sees', async () => {
    const { puna, loads } = fakePackage();
    const engine = new TabEngine(async () => puna);
    await engine.download('hf:o/r/m.gguf  hf:o/r/mmproj.gguf', signal);
    expect(loads).toEqual([{ source: 'hf:o/r/m.gguf', share: true, mmproj: 'hf:o/r/mmproj.gguf' }]);
    const listed = (await engine.models()).find(({ id }) => id === 'hf:o/r/m.gguf');
    expect(listed).toMatchObject({ state: 'loaded', images: true, audio: false });
  });

  it('names a model by its own file, not by its encoder', async () => {
    const { puna, loads } = fakePackage();
    const engine = new TabEngine(async () => puna);
    const files = [new File(['x'], 'mmproj-mine.gguf'), new File(['x'], 'mine.gguf')];
    expect(await engine.drop(files, false)).toBe('mine.gguf');
    expect(loads[0]).toEqual({ source: files, share: false });
  });

  it('takes files of this device', async () => {
    const { puna, loads } = fakePackage();
    const engine = new TabEngine(async () => puna);
    const files = [new File(['x'], 'mine.gguf')];
    expect(await engine.drop(files, false)).toBe('mine.gguf');
    expect(loads[0]).toEqual({ source: files, share: false });
    expect((await engine.models()).find(({ id }) => id === 'mine.gguf')).toMatchObject({ state: 'loaded' });
  });

  it('tells why a load failed, and may be stopped', async () => {
    const { puna, failWith } = fakePackage();
    const engine = new TabEngine(async () => puna);
    await engine.models();
    const stop = new AbortController();
    const stopped = engine.load('smollm2:latest', stop.signal);
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(stopped).rejects.toBe(reason);
    failWith(Object.assign(new Error('It does not fit.'), { code: 'out_of_memory' }));
    await expect(engine.load('smollm2:latest')).rejects.toMatchObject({
      fault: { kind: 'model', message: 'It does not fit.' },
    });
    expect((await engine.models())[0]).toMatchObject({ state: 'failed', why: 'It does not fit.' });
  });

  it('reads both numbers of a prompt that is too long', () => {
    const message = 'The prompt has 9000 tokens, but the context holds 4096 and needs room for an answer.';
    expect(tabError(Object.assign(new Error(message), { code: 'invalid_argument' }))).toMatchObject({
      fault: { kind: 'context', promptTokens: 9000, contextTokens: 4096 },
    });
  });
});
