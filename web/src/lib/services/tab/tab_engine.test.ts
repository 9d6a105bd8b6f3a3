import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnswerRequest, EngineEvent } from '../../types/engine.ts';
import { abilityOfTab, tooLarge } from './ability.ts';
import { tabError } from './faults.ts';
import type { PunaPackage } from './package.ts';
import { TabEngine } from './tab_engine.ts';

const digest = 'b179';

function fakePackage(changes: Partial<Awaited<ReturnType<PunaPackage['capabilities']>>> = {}) {
  const loads: { source: unknown; share: boolean; mmproj?: string }[] = [];
  const closed: string[] = [];
  let fail: Error | undefined;
  const puna: PunaPackage = {
    async load(source, { share, signal, onProgress, mmproj }) {
      loads.push({ source, share, ...(mmproj === undefined ? {} : { mmproj }) });
      onProgress({ stage: 'download', doneBytes: 1, totalBytes: 2 });
      await new Promise((resolve) => setTimeout(resolve, 5));
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
        { name: 'smollm2:latest', id: digest, bytes: 100, totalBytes: 100, complete: true, mmproj: null, encoder: false },
        { name: 'm.gguf', id: 'https://host/m.gguf', bytes: 5, totalBytes: 10, complete: false, mmproj: 'https://host/p.gguf', encoder: false },
        { name: 'p.gguf', id: 'https://host/p.gguf', bytes: 1, totalBytes: 1, complete: true, mmproj: null, encoder: true },
      ],
      delete: async () => 0,
    },
  };
  return { puna, loads, closed, failWith: (error: Error) => (fail = error) };
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
      { id: 'm.gguf', here: false, bytes: 10 },
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
    expect(await engine.count('m.gguf', [])).toBeUndefined();
    await engine.load('m.gguf');
    expect(closed).toEqual(['smollm2:latest']);
    expect(loads).toEqual([
      { source: 'smollm2:latest', share: true },
      { source: 'https://host/m.gguf', share: true },
    ]);
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
