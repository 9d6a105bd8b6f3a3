// An engine without a model, for testing what is around it: reads all bytes, remembers their SHA-256 as the device's name, and
// answers with made-up words that depend on the seed. Extra fields of a request ("fake") say how it misbehaves.
import { createSHA256 } from 'hash-wasm';
import { PunaError } from '../../src/errors.js';
import type { ModelFiles } from '../../src/engine/model_files.js';
import type { ChatChunk, ChatRequest, CompletionChunk, CompletionRequest, EmbeddingRequest } from '../../src/openai_types.js';
import type { EngineOptions, LoadedModel, LogitsInput, Memory } from '../../src/worker/engine_api.js';

// Memory is collected all the time in a browser that was started with --expose-gc.
const collect = (globalThis as { gc?: () => void }).gc;
if (collect) setInterval(collect, 0);

interface Fake {
  tokens?: number;
  delay?: number; // ms between tokens
  loseAt?: number; // the GPU goes away before this token, the first time only
  drift?: boolean; // the engine that takes over says something else
}

const kPiece = 1 << 20;
let created = 0;
let lost = 0;

export class EngineHost {
  readonly lost: Promise<string>;
  private lose!: (reason: string) => void;
  private closed = false;
  private readonly number = ++created;
  running = 0;

  static async create(_: { base: string }): Promise<EngineHost> {
    return new EngineHost();
  }

  private constructor() {
    this.lost = new Promise((resolve) => (this.lose = resolve));
  }

  async load(
    model: ModelFiles,
    options: EngineOptions,
    onProgress: (done: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<LoadedModel> {
    const sha = await createSHA256();
    sha.init();
    const total = model.parts.reduce((sum, { size }) => sum + size, 0);
    let done = 0;
    for (const { size, read } of model.parts.map((part) => ({ size: part.size, read: part.read.bind(part) }))) {
      for (let offset = 0; offset < size; offset += kPiece) {
        if (signal.aborted) throw new PunaError('aborted', 'stopped');
        const piece = new Uint8Array(Math.min(kPiece, size - offset));
        await read(offset, piece);
        sha.update(piece);
        onProgress((done += piece.length), total);
      }
    }
    await model.verified;
    return {
      name: model.name,
      architecture: model.parts.map(({ path }) => path).join(','),
      device: { type: 'cpu', name: sha.digest('hex'), features: [], why: `engine ${this.number}` },
      context: options.context ?? 2048,
      trained_context: 2048,
      vocab: 4,
      chat: true,
      embeddings: false,
      media: null,
      threads: 1,
      parallel: 1,
      keepsTexts: { on: false, why: 'an engine of the tests' },
      memory: this.memory(),
      load_ms: 1,
    };
  }

  async chat(request: ChatRequest, onChunk: (chunk: ChatChunk) => void | Promise<void>, signal: AbortSignal): Promise<void> {
    const head = { id: `chat-${this.number}-${++this.running}`, object: 'chat.completion.chunk' as const, created: 1, model: 'fake' };
    const send = (delta: ChatChunk['choices'][0]['delta'], finish: string | null = null, more: object = {}) =>
      onChunk({ ...head, choices: [{ index: 0, delta, finish_reason: finish }], ...more });
    if (request.temperature !== undefined && request.temperature < 0) {
      throw new PunaError('invalid_argument', `The field "temperature" is ${request.temperature}, but it has to be at least 0.`);
    }
    await send({ role: 'assistant', content: null });
    const n = await this.speak(request, (text) => send({ content: text }), signal);
    const usage = { prompt_tokens: 1, completion_tokens: n, total_tokens: n + 1 };
    await send({}, signal.aborted ? 'cancelled' : 'stop', { usage, timings: { predicted_n: n, predicted_ms: 1, predicted_per_second: 1000 * n } });
  }

  async complete(request: CompletionRequest, onChunk: (chunk: CompletionChunk) => void | Promise<void>, signal: AbortSignal): Promise<void> {
    const head = { id: `text-${this.number}-${++this.running}`, object: 'text_completion' as const, created: 1, model: 'fake' };
    const send = (text: string, finish: string | null = null) => onChunk({ ...head, choices: [{ index: 0, text, finish_reason: finish }] });
    await this.speak(request, (text) => send(text), signal);
    await send('', 'stop');
  }

  async embed({ input }: EmbeddingRequest) {
    const texts = Array.isArray(input) ? input : [input];
    const data = texts.map((_, index) => ({ object: 'embedding' as const, index, embedding: [1, 2, 3] }));
    return { object: 'list' as const, model: 'fake', data, usage: { prompt_tokens: 1, total_tokens: 1 } };
  }

  async tokenize(text: string): Promise<number[]> {
    return [...new TextEncoder().encode(text)];
  }

  async detokenize(tokens: number[]): Promise<Uint8Array> {
    return Uint8Array.from(tokens);
  }

  async logits(input: LogitsInput): Promise<Float32Array> {
    return new Float32Array(('prompt' in input ? input.prompt.length : input.length) * 4).fill(0.5);
  }

  async countTokens(request: ChatRequest): Promise<number> {
    return request.messages.length;
  }

  async embedMedia(): Promise<Float32Array> {
    return new Float32Array(4);
  }

  async bench(): Promise<object> {
    return {};
  }

  memory(): Memory {
    return { weights_bytes: 1, kv_bytes: 2, arena_bytes: 3, staging_bytes: 4, heap_bytes: created };
  }

  async settled(): Promise<void> {}

  close(): void {
    this.closed = true;
  }

  // Words until the end or a stop; how many.
  private async speak(request: ChatRequest | CompletionRequest, say: (text: string) => unknown, signal: AbortSignal): Promise<number> {
    const { tokens = 5, delay = 0, loseAt = Infinity, drift = false } = (request.fake ?? {}) as Fake;
    const seed = Number(request.seed ?? 0) + (drift && this.number > 1 ? 1 : 0);
    for (let i = 0; i < tokens; ++i) {
      if (i === loseAt && lost === 0) {
        ++lost;
        this.lose('a test took it');
        await new Promise(() => undefined); // a GPU that is gone answers nothing
      }
      if (signal.aborted || this.closed) return i;
      await say(`w${(seed * 31 + i * 7) % 1000} `);
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
    return tokens;
  }
}
