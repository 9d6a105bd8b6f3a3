// EngineHost: one model on one device, in the worker's WebAssembly module. Requests cross as JSON (bindings/js/exports.cpp).
import { type ErrorCode, PunaError, throwIfAborted, toPunaError } from '../errors.js';
import type {
  ChatChunk,
  ChatRequest,
  CompletionChunk,
  CompletionRequest,
  EmbeddingRequest,
  EmbeddingResponse,
} from '../openai_types.js';
import { type HeldText, type Identity, KeptPrefixes, type PrefixEngine, type Restored } from '../prefixes/kept_prefixes.js';
import { kDefaultBytes } from '../prefixes/pieces.js';
import { OpfsPrefixStore } from '../prefixes/prefix_store.js';
import { TextKeeper } from '../prefixes/text_keeper.js';
import { lacks, openStore } from '../storage/open_store.js';
import { formatBytes } from '../storage/quota.js';
import type { EngineOptions, Host, LoadedModel, LogitsInput, MediaInput, Memory } from '../worker/engine_api.js';
import { fileOf, inlined, inlinedPrompt, senseOf } from './media.js';
import { findAdapter, type GpuFeatures, openGpu } from './gpu.js';
import type { ModelFiles, ModelPart } from './model_files.js';
import { type PageFile, PageFiles } from './page_files.js';
import { PassedChecks } from './passed_checks.js';
import { type PageHooks, type PunaModule, startModule, usableThreads } from './wasm.js';

// base::name(ErrorCode) where the package calls it otherwise.
const codes: Record<string, ErrorCode> = { usage: 'invalid_argument', io: 'storage', device_lost: 'gpu_lost', cancelled: 'aborted' };

// Called with what comes before the answer; a promise resolves when its reader has caught up.
type OnEvent = (json: unknown) => void | Promise<void>;

interface Pending {
  onEvent: OnEvent;
  resolve: (answer: unknown) => void;
  reject: (error: PunaError) => void;
}

// Where a model may go, in the order in which it is tried.
interface Place {
  why: string;
  gpu?: GpuFeatures;
}

export interface BenchOptions {
  prompt?: number; // tokens; 0: no prefill
  decode?: number;
  depths?: number[];
  repeats?: number;
}

const partJson = ({ path, size, sync }: ModelPart) => ({ path, size, at_once: sync ?? false });

const floats = (bytes: unknown) => new Float32Array((bytes as Uint8Array).buffer as ArrayBuffer);

function spread(values: number[]): { min: number; median: number; max: number } {
  const sorted = values.sort((a, b) => a - b);
  const n = sorted.length;
  return { min: sorted[0]!, median: (sorted[(n - 1) >> 1]! + sorted[n >> 1]!) / 2, max: sorted[n - 1]! };
}

export class EngineHost implements Host {
  readonly lost: Promise<string>;
  private module: PunaModule | null = null; // from load() on: its kind depends on the device
  private model: ModelFiles | null = null;
  private device: GPUDevice | null = null;
  private tellLost!: (reason: string) => void;
  private readonly pending = new Map<number, Pending>();
  private lastRequest = 0;
  private readonly files = new PageFiles();
  private readonly checks = new PassedChecks(async () => (await openStore()).records);
  private keeper: TextKeeper | null = null;
  private closed = false;
  private loaded: LoadedModel | null = null;

  private constructor(private readonly base: string) {
    this.lost = new Promise((resolve) => (this.tellLost = resolve));
  }

  static async create({ base }: { base: string }): Promise<EngineHost> {
    return new EngineHost(base);
  }

  async load(
    model: ModelFiles,
    options: EngineOptions,
    onProgress: (doneBytes: number, totalBytes: number) => void,
    signal: AbortSignal,
  ): Promise<LoadedModel> {
    const started = performance.now();
    this.model = model;
    let failed = '';
    for (const place of await this.places(options)) {
      try {
        const why = failed ? `${place.why}, after ${failed}` : place.why;
        const loaded = await this.loadAt(model, options, { ...place, why }, onProgress, signal);
        const keepsTexts = await this.keepTexts(model, options, loaded);
        this.loaded = { ...loaded, keepsTexts, load_ms: performance.now() - started };
        return { ...this.loaded, memory: this.memory() };
      } catch (error) {
        this.releaseDevice();
        if (!(error instanceof PunaError) || !this.mayFallBack(error, options)) throw error;
        console.warn(`puna: ${error.message}`);
        failed = error.message;
      }
    }
    throw new PunaError('device', failed);
  }

  async chat(request: ChatRequest, onChunk: (chunk: ChatChunk) => void | Promise<void>, signal: AbortSignal): Promise<void> {
    await onChunk((await this.text('chat', await inlined(request), (chunk) => onChunk(chunk as ChatChunk), signal)) as ChatChunk);
  }

  async complete(request: CompletionRequest, onChunk: (chunk: CompletionChunk) => void | Promise<void>, signal: AbortSignal): Promise<void> {
    await onChunk((await this.text('complete', await inlinedPrompt(request, this.loaded?.media?.marker), (chunk) => onChunk(chunk as CompletionChunk), signal)) as CompletionChunk);
  }

  async embed(request: EmbeddingRequest): Promise<EmbeddingResponse> {
    return (await this.send('embed', request)) as EmbeddingResponse;
  }

  async tokenize(text: string, { special = true }: { special?: boolean } = {}): Promise<number[]> {
    return (await this.send('tokenize', { text, special })) as number[];
  }

  async countTokens(request: ChatRequest): Promise<number> {
    return ((await this.send('count', await inlined(request))) as { tokens: number }).tokens;
  }

  async detokenize(tokens: number[]): Promise<Uint8Array> {
    return (await this.send('detokenize', { tokens })) as Uint8Array;
  }

  async logits(input: LogitsInput): Promise<Float32Array> {
    if (!('prompt' in input)) return floats(await this.send('logits', { tokens: input }));
    const { prompt, media } = input;
    return this.files.lend(media.map(fileOf), async (indices) => {
      const files = await Promise.all(media.map(async (blob, i) => ({ part: indices[i], size: blob.size, sense: await senseOf(blob) })));
      return floats(await this.send('media_logits', { prompt, files }));
    });
  }

  async embedMedia(input: MediaInput): Promise<Float32Array> {
    const given = input instanceof Blob ? null : input;
    const blob = input instanceof Blob ? input : new Blob([input.values as Float32Array<ArrayBuffer>]);
    return this.files.lend([fileOf(blob)], async ([part]) => {
      const sense = given ? (given.shape.length === 2 ? 'audio' : 'image') : await senseOf(blob);
      return floats(await this.send('media_rows', { part, size: blob.size, sense, shape: given?.shape ?? [] }));
    });
  }

  // As `puna bench`: prefill and decode speed behind each depth. Runs before the first that counts warm caches and clocks.
  async bench({ prompt = 512, decode = 128, depths = [0], repeats = 5 }: BenchOptions = {}): Promise<object> {
    const warmMs = 300;
    const results: object[] = [];
    for (const depth of depths) {
      for (const [phase, tokens] of [['prefill', prompt], ['decode', decode]] as const) {
        const speeds: number[] = [];
        const started = performance.now();
        for (let warm = false; tokens > 0 && speeds.length < repeats; warm ||= performance.now() - started > warmMs) {
          const { ms } = (await this.send('bench', { phase, tokens, depth })) as { ms: number };
          if (warm) speeds.push((tokens * 1000) / ms);
        }
        if (speeds.length > 0) results.push({ phase, tokens, depth, tokens_per_s: spread(speeds) });
      }
    }
    return { ...this.info(), results, memory: this.memory() };
  }

  memory(): Memory {
    return { ...this.info().memory, heap_bytes: this.module!.HEAPU8.length };
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const { reject } of this.pending.values()) reject(new PunaError('closed', 'The engine was closed.'));
    if (this.pending.size === 0) this.module?._puna_close();
    this.pending.clear();
    this.model?.mmproj?.close();
    this.releaseDevice();
  }

  private info(): LoadedModel {
    if (this.loaded) return this.loaded;
    throw new PunaError('invalid_argument', 'No model is loaded.');
  }

  // Whether what is computed of texts is kept in the browser's storage.
  private async keepTexts({ verified }: ModelFiles, { keepTexts: asked = false }: EngineOptions, { embeddings, media }: LoadedModel): Promise<LoadedModel['keepsTexts']> {
    if (asked === false) return { on: false, why: 'keepTexts is not set' };
    const missing = embeddings ? 'a model for embeddings writes no texts' : media ? 'texts with pictures or sounds are not kept' : lacks('opfs');
    const digest = missing ? null : await verified;
    if (digest === null) return { on: false, why: missing || 'files that are read where they are have no SHA-256; keep: true gives them one' };
    const { bytes = kDefaultBytes } = asked === true ? {} : asked;
    try {
      const kept = await KeptPrefixes.open(this.prefixEngine(), await OpfsPrefixStore.open(), digest, bytes);
      this.keeper = new TextKeeper(kept);
      return { on: true, why: `keepTexts, up to ${formatBytes(bytes)}` };
    } catch (error) {
      return { on: false, why: toPunaError(error).message };
    }
  }

  private prefixEngine(): PrefixEngine {
    const { files } = this;
    return {
      identity: (model) => this.send('identity', { model }) as Promise<Identity>,
      prompt: (kind, request) => this.send('prompt', { kind, request }) as ReturnType<PrefixEngine['prompt']>,
      texts: () => this.send('texts', {}) as Promise<HeldText[]>,
      save: (piece, write, signal) => files.lend([{ write }], async ([file]) => void (await this.send('save', { ...piece, file }, undefined, signal))),
      restore: (tokens, model, readers) =>
        files.lend(readers, (indices) => {
          const pieces = readers.map(({ size, sync }, i) => ({ part: indices[i], size, at_once: sync }));
          return this.send('restore', { tokens, model, pieces }) as Promise<Restored>;
        }),
    };
  }

  private async places({ device = 'auto', gpuFeatures = 'all' }: EngineOptions): Promise<Place[]> {
    const cpu = (why: string): Place[] => [{ why }];
    if (device === 'cpu') return cpu('device: "cpu"');
    const found = await findAdapter();
    if (typeof found === 'string') {
      if (device === 'gpu') throw new PunaError('unsupported', `There is no GPU: ${found}.`);
      return cpu(found);
    }
    if (found.software && device === 'auto') return cpu(`${found.name} is no GPU but a software adapter`);
    if (gpuFeatures === 'baseline') return [{ why: 'gpuFeatures: "baseline"', gpu: 'baseline' }];
    const gpus: Place[] = [{ why: 'the adapter that the browser prefers', gpu: 'all' }];
    if (found.adapter.features.has('shader-f16')) gpus.push({ why: 'without f16', gpu: 'no f16' });
    gpus.push({ why: 'without optional features', gpu: 'baseline' });
    return device === 'gpu' ? gpus : [...gpus, ...cpu('the CPU')];
  }

  private mayFallBack(error: PunaError, { device = 'auto' }: EngineOptions): boolean {
    return error.code === 'device' || (error.code === 'out_of_memory' && device === 'auto');
  }

  private async loadAt(
    model: ModelFiles,
    options: EngineOptions,
    place: Place,
    onProgress: (doneBytes: number, totalBytes: number) => void,
    signal: AbortSignal,
  ): Promise<LoadedModel> {
    // One module for one place: what a failed load leaves behind goes with it.
    const { module, threads } = await startModule(this.base, this.hooks(), place.gpu ? 1 : usableThreads(options.threads));
    this.module = module;
    const gpu = place.gpu ? await this.openDevice(module, place.gpu, options.selfTest) : null;
    const body = {
      name: model.name,
      parts: model.parts.map(partJson),
      mmproj: model.mmproj ? partJson(model.mmproj.parts[0]!) : undefined,
      why: place.why,
      gpu,
      numerics: options.numerics,
      kv_type: options.kvType,
      image_max_tokens: model.mmproj && options.imageMaxTokens,
      context: options.context,
      parallel: options.parallel,
      threads,
    };
    const progress = (json: unknown) => {
      const event = json as { checked: string } | { done: number; total: number };
      if ('checked' in event) void this.checks.add(event.checked);
      else onProgress(event.done, event.total);
    };
    return (await this.send('load', body, progress, signal)) as LoadedModel;
  }

  private async openDevice(module: PunaModule, features: GpuFeatures, selfTest: EngineOptions['selfTest']) {
    const found = await findAdapter(); // an adapter gives one device
    if (typeof found === 'string') throw new PunaError('device', `The GPU is no longer there: ${found}.`);
    const { device, facts } = await openGpu(found, features);
    this.device = device;
    void device.lost.then((info) => {
      if (this.device === device) this.tellLost(info.message || info.reason);
    });
    const check = selfTest ?? !found.software;
    const passed = check === true ? await this.checks.list() : [];
    return { handle: module.PunaGpu.add(device), facts, baseline: features === 'baseline', check: check !== false, passed };
  }

  private releaseDevice(): void {
    const device = this.device;
    this.device = null; // what follows is no loss
    device?.destroy();
  }

  async settled(): Promise<void> {
    await this.keeper?.settled();
  }

  private text(operation: 'chat' | 'complete', body: object, onEvent: OnEvent, signal: AbortSignal): Promise<unknown> {
    const run = () => this.send(operation, body, onEvent, signal);
    return this.keeper ? this.keeper.write(operation, body, run) : run();
  }

  private async send(operation: string, body: unknown, onEvent: OnEvent = () => undefined, signal?: AbortSignal): Promise<unknown> {
    const { module } = this;
    if (this.closed) throw new PunaError('closed', 'The engine was closed.');
    if (!module) throw new PunaError('invalid_argument', 'No model is loaded.');
    throwIfAborted(signal);
    const request = ++this.lastRequest;
    const cancel = () => module._puna_cancel(request);
    signal?.addEventListener('abort', cancel);
    try {
      const answer = await new Promise((resolve, reject) => {
        this.pending.set(request, { onEvent, resolve, reject });
        module._puna_send(request, module.stringToNewUTF8(operation), module.stringToNewUTF8(JSON.stringify(body)));
      });
      throwIfAborted(signal);
      return answer;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  private hooks(): PageHooks {
    // The encoder's follows those of the model.
    const parts = [...this.model!.parts, ...(this.model!.mmproj?.parts ?? [])];
    const file = (index: number): PageFile => parts[index] ?? this.files.get(index) ?? {};
    const read = (index: number, offset: number, out: Uint8Array) => {
      const from = file(index);
      if (!from.read) throw new Error('the file is closed');
      return from.read(offset, out);
    };
    // A message to oneself comes back from the event loop sooner than a timer.
    const channel = new MessageChannel();
    const resumes: (() => void)[] = [];
    channel.port1.onmessage = () => resumes.shift()?.();
    return {
      readNow: (index, offset, out) => {
        if (read(index, offset, out)) throw new Error('the bytes are not there yet');
      },
      read: async (index, offset, out) => read(index, offset, out),
      write: (index, bytes) => {
        const to = file(index);
        if (!to.write) throw new Error('the file is closed');
        to.write(bytes);
      },
      answer: (request, kind, json) => this.answer(request, kind, json),
      answerBytes: (request, bytes) => this.answer(request, 1, bytes),
      later: (resume) => {
        resumes.push(resume);
        channel.port2.postMessage(null);
      },
      log: (level, text) => (level === 2 ? console.warn(`puna: ${text}`) : console.debug(`puna: ${text}`)),
    };
  }

  private answer(request: number, kind: number, json: unknown): void {
    const pending = this.pending.get(request);
    if (!pending) return;
    if (kind === 0) return this.tell(request, pending, json);
    this.pending.delete(request);
    if (kind === 1) return pending.resolve(json);
    const { code, message } = json as { code: string; message: string };
    pending.reject(new PunaError(codes[code] ?? (code as ErrorCode), message));
  }

  // The engine pauses a text whose reader is behind.
  private tell(request: number, { onEvent }: Pending, json: unknown): void {
    const behind = onEvent(json);
    if (!behind) return;
    this.module!._puna_hold(request, 1);
    const goOn = () => this.pending.has(request) && this.module!._puna_hold(request, 0);
    void behind.then(goOn, goOn);
  }
}
