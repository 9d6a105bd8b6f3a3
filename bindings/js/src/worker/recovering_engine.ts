// One loaded model on an engine that is made anew, with the model loaded from storage again, when its GPU goes away. Requests that
// were running are repeated, once (replay.ts).
import { PunaError, throwIfAborted, toPunaError } from '../errors.js';
import type { ModelFiles } from '../engine/model_files.js';
import type { ChatChunk, ChatRequest, CompletionChunk, CompletionRequest } from '../openai_types.js';
import type { CreateHost, EngineOptions, Host, LoadedModel } from './engine_api.js';
import { ChatReplay, CompletionReplay, lostFor, type Replay, seeded } from './replay.js';

export interface EngineState {
  state: 'recovering' | 'recovered' | 'failed';
  reason: string;
  info: LoadedModel | null; // of the engine that took over
}

interface Running {
  host: Host;
  info: LoadedModel;
  lost: Promise<string>;
}

type AnyChunk = ChatChunk | CompletionChunk;
type OnChunk<Chunk> = (chunk: Chunk) => void | Promise<void>;

const kManyLosses = 3; // within kLossWindowMs: this GPU does not stay
const kLossWindowMs = 60_000;

export class RecoveringEngine {
  private closed = false;
  private running: Promise<Running>;
  private readonly losses: number[] = [];

  private constructor(
    first: Running,
    private readonly start: () => Promise<Running>,
    private readonly tell: (state: EngineState) => void,
  ) {
    this.running = Promise.resolve(first);
    this.watch(first);
  }

  // `openModel` opens the files of the model again, from where they are kept.
  static async load(
    createHost: CreateHost,
    model: ModelFiles,
    openModel: () => Promise<ModelFiles>,
    options: EngineOptions,
    onProgress: (doneBytes: number, totalBytes: number) => void,
    signal: AbortSignal,
    tell: (state: EngineState) => void,
  ): Promise<RecoveringEngine> {
    const first = await startHost(createHost, model, options, onProgress, signal);
    const again = async () => startHost(createHost, await openModel(), options, () => undefined, new AbortController().signal);
    return new RecoveringEngine(first, again, tell);
  }

  async info(): Promise<LoadedModel> {
    return (await this.running).info;
  }

  chat(request: ChatRequest, onChunk: OnChunk<ChatChunk>, signal: AbortSignal): Promise<void> {
    const same = seeded(request);
    return this.answer(new ChatReplay(), (host, pass, stop) => host.chat(same, pass, stop), onChunk, signal);
  }

  complete(request: CompletionRequest, onChunk: OnChunk<CompletionChunk>, signal: AbortSignal): Promise<void> {
    const same = seeded(request);
    return this.answer(new CompletionReplay(), (host, pass, stop) => host.complete(same, pass, stop), onChunk, signal);
  }

  // A call that can simply be made again.
  async use<T>(run: (host: Host) => Promise<T> | T): Promise<T> {
    const first = await attempt(await this.running, run);
    if ('value' in first) return first.value;
    const second = await attempt(await this.running, run);
    if ('value' in second) return second.value;
    throw lostFor(second.lost, 'it did so before');
  }

  async settled(): Promise<void> {
    await (await this.running).host.settled();
  }

  close(): void {
    this.closed = true;
    this.running.then(({ host }) => host.close()).catch(() => undefined);
  }

  private async answer<Chunk extends AnyChunk>(
    replay: Replay<Chunk>,
    run: (host: Host, pass: OnChunk<Chunk>, signal: AbortSignal) => Promise<void>,
    onChunk: OnChunk<Chunk>,
    signal: AbortSignal,
  ): Promise<void> {
    const stop = new AbortController();
    const abort = () => stop.abort();
    throwIfAborted(signal);
    signal.addEventListener('abort', abort);
    const pass = (chunk: Chunk) => {
      const fresh = replay.pass(chunk);
      if (replay.diverged) stop.abort();
      return fresh ? onChunk(fresh) : undefined;
    };
    try {
      const first = await attempt(await this.running, (host) => run(host, pass, stop.signal));
      throwIfAborted(signal);
      if ('value' in first || replay.finished) return;
      replay.repeat();
      const second = await attempt(await this.running, (host) => run(host, pass, stop.signal)).catch((error: unknown) => {
        if (!replay.diverged) throw error;
      });
      throwIfAborted(signal);
      if (replay.diverged) throw lostFor(first.lost, 'the engine that took over gives another text');
      if (second && 'lost' in second) throw lostFor(second.lost, 'it did so before while this request ran');
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  private watch(engine: Running): void {
    void engine.lost.then((reason) => {
      if (!this.closed) this.running = this.recover(reason);
      this.running.catch(() => undefined); // those who wait for it hear of it
    });
  }

  private async recover(reason: string): Promise<Running> {
    this.tell({ state: 'recovering', reason, info: null });
    try {
      const now = Date.now();
      this.losses.push(now);
      if (this.losses.filter((at) => now - at < kLossWindowMs).length >= kManyLosses) throw new Error(`it was lost ${kManyLosses} times within a minute`);
      const next = await this.start();
      if (this.closed) next.host.close();
      this.watch(next);
      this.tell({ state: 'recovered', reason, info: next.info });
      return next;
    } catch (error) {
      this.tell({ state: 'failed', reason, info: null });
      throw new PunaError('gpu_lost', `The GPU went away (${reason}), and the model could not be loaded again: ${toPunaError(error).message}. Load it anew, or with device: "cpu".`);
    }
  }
}

async function startHost(
  createHost: CreateHost,
  model: ModelFiles,
  options: EngineOptions,
  onProgress: (doneBytes: number, totalBytes: number) => void,
  signal: AbortSignal,
): Promise<Running> {
  let host: Host | null = null;
  try {
    throwIfAborted(signal);
    host = await createHost();
    const gone = host.lost;
    // An engine that waits for a GPU that has gone may never say so itself.
    const info = await Promise.race([host.load(model, options, onProgress, signal), gone.then(goneWhileLoading), rejected(model.verified)]);
    await model.verified;
    model.close();
    const lost = gone.then((reason) => (host!.close(), reason));
    return { host, info, lost };
  } catch (error) {
    host?.close();
    model.close();
    model.mmproj?.close();
    throw toPunaError(error);
  }
}

function goneWhileLoading(reason: string): never {
  throw new PunaError('gpu_lost', `The GPU went away while the model was loaded (${reason}). Load it again, or with device: "cpu".`);
}

// Rejects as the promise does, and never resolves.
function rejected(promise: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => promise.catch(reject));
}

// What a call gives, or why the GPU went away during it.
async function attempt<T>({ host, lost }: Running, run: (host: Host) => Promise<T> | T): Promise<{ value: T } | { lost: string }> {
  try {
    const call = Promise.resolve(run(host)).then((value) => ({ value }));
    call.catch(() => undefined); // it may fail after the loss has been seen
    return await Promise.race([call, lost.then((reason) => ({ lost: reason }))]);
  } catch (error) {
    const failure = toPunaError(error);
    if (failure.code !== 'gpu_lost') throw failure;
    return { lost: await Promise.race([lost, Promise.resolve(failure.message)]) };
  }
}
