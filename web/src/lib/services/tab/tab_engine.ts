// The models of this tab: the package's engine, one model at a time, shared with the site's other tabs.
import {
  EngineError,
  type AnswerRequest,
  type ChatMessage,
  type Engine,
  type EngineEvent,
  type ModelInfo,
  type TabState,
} from '../../types/engine.ts';
import { ChunkReader } from '../chunks.ts';
import { chatBody, messageBody } from '../http/body.ts';
import { answerV1 } from '../offline.ts';
import { abilityOfTab, tooLarge } from './ability.ts';
import { tabError } from './faults.ts';
import { isAddress, modelId } from './model_id.ts';
import { loadPackage, type PunaEngine, type PunaPackage, type StoredModel } from './package.ts';

interface Loading {
  id: string;
  engine: Promise<PunaEngine>;
  stop: AbortController;
  // How many wait for it: answers, and whoever asked for it by hand.
  waiting: number;
  progress?: { doneBytes: number; totalBytes: number };
  downloads: boolean;
}

// Of a stored model: its name in the catalogue, else its address, as two may have the same name, else its name.
function storedId({ name, id }: StoredModel, { catalogue }: PunaPackage['models']): string {
  const known = catalogue.find((each) => each.name === name || id.includes(each.sha256));
  return known?.name ?? (isAddress(id) ? modelId(id) : name);
}

// The encoder of pictures and sounds among files, as repositories name it.
const isEncoder = (name: string) => /mmproj.*\.gguf$/i.test(name);

export class TabEngine implements Engine {
  readonly runsOn = 'tab';
  #state: TabState = { able: false, device: 'none' };
  #known: ModelInfo[] = [];
  // The one that is loaded, or on its way.
  #current: Loading | undefined;
  #loaded: { id: string; engine: PunaEngine } | undefined;
  readonly #failed = new Map<string, string>();
  // Files of this device that were given to this page, by the model's id.
  readonly #dropped = new Map<string, File[]>();
  // Addresses of encoders that were given with the model's.
  readonly #encoders = new Map<string, string>();
  readonly #watchers = new Set<(models: ModelInfo[]) => void>();
  // The model of the answers that are written or wait for it to be loaded, and how many these are.
  #wanted = { id: '', answers: 0 };
  #writing = 0;
  // Ends when the model that was here last is gone: there is room for one.
  #gone: Promise<void> = Promise.resolve();
  readonly #ends: (() => void)[] = [];
  #serves = false;
  #endServing: (() => void) | undefined;

  constructor(private readonly getPackage: () => Promise<PunaPackage> = loadPackage) {}

  // Where there is no server: /v1 of the page's own address is answered by the model that is loaded.
  serveV1(): void {
    this.#serves = true;
    void this.#serve();
  }

  get state(): TabState {
    return this.#state;
  }

  async models(): Promise<ModelInfo[]> {
    this.#state = await abilityOfTab(this.getPackage);
    this.#known = this.#state.able ? await this.#listed() : [];
    this.#tell();
    return this.#list();
  }

  watch(changed: (models: ModelInfo[]) => void): () => void {
    this.#watchers.add(changed);
    void this.models().catch(() => undefined);
    return () => this.#watchers.delete(changed);
  }

  async load(model: string, signal?: AbortSignal): Promise<void> {
    this.#checkIdle(model);
    await this.#engine(model, signal);
  }

  async unload(model: string): Promise<void> {
    if (this.#current?.id !== model) return;
    const { engine, stop } = this.#current;
    this.#current = undefined;
    this.#loaded = undefined;
    this.#endServing?.();
    this.#endServing = undefined;
    stop.abort();
    this.#gone = engine.then((loaded) => loaded.close()).catch(() => undefined);
    this.#tell();
    await this.#gone;
  }

  idOf(address: string): string {
    return modelId(address.trim().split(/\s+/)[0]!);
  }

  // What is downloaded is loaded too: it was wanted. Behind the address of a model may stand that of its encoder.
  async download(address: string, signal: AbortSignal): Promise<void> {
    const model = this.idOf(address);
    const encoder = address.trim().split(/\s+/)[1];
    this.#checkIdle(model);
    if (encoder !== undefined) this.#encoders.set(model, encoder);
    await this.#engine(model, signal);
    await this.models();
  }

  // Files of this device; with `keep` they are copied into the browser's storage. Gives the model's id.
  async drop(files: File[], keep: boolean): Promise<string> {
    const first = files.find(({ name }) => !isEncoder(name)) ?? files[0];
    if (!first) throw new EngineError({ kind: 'refused', message: 'There is no file.' });
    this.#checkIdle(first.name);
    this.#dropped.set(first.name, files);
    await this.#engine(first.name, undefined, keep);
    await this.models();
    return first.name;
  }

  async remove(model: string): Promise<void> {
    await this.unload(model);
    this.#dropped.delete(model);
    this.#failed.delete(model);
    const puna = await this.getPackage();
    const stored = (await puna.models.list()).find((each) => storedId(each, puna.models) === model);
    try {
      if (stored) await puna.models.delete(stored.id);
    } catch (error) {
      throw tabError(error);
    }
    await this.models();
  }

  // Only of the model that is loaded; undefined where it cannot read the messages.
  async count(model: string, messages: ChatMessage[]): Promise<number | undefined> {
    if (this.#loaded?.id !== model) return undefined;
    const { engine } = this.#loaded;
    return engine.countTokens({ messages: messages.map(messageBody) }).catch(() => undefined);
  }

  async *answer(request: AnswerRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    const chunks = new ChunkReader();
    try {
      // The model that another answer is written by, or waits for, does not go for this one.
      while (this.#isWanted(request.model)) {
        yield { type: 'queued', place: this.#wanted.answers };
        await unlessStopped(new Promise<void>((resolve) => this.#ends.push(resolve)), signal);
      }
      this.#wanted = { id: request.model, answers: this.#wanted.answers + 1 };
      try {
        const engine = await this.#engine(request.model, signal);
        if (this.#writing > 0) yield { type: 'queued', place: this.#writing };
        ++this.#writing;
        try {
          for await (const chunk of engine.chat({ ...chatBody(request), return_progress: true }, { signal }))
            yield* chunks.read(chunk);
        } finally {
          --this.#writing;
        }
      } finally {
        --this.#wanted.answers;
        this.#ends.splice(0).forEach((tell) => tell());
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : tabError(error);
    }
    yield chunks.done();
  }

  // An answer of this tab ends with its page.
  async *resume(): AsyncGenerator<EngineEvent> {
    throw new EngineError({ kind: 'gone', message: 'What this tab was writing ended with it.' });
  }

  async kept(): Promise<Map<string, { writing: boolean }>> {
    return new Map();
  }

  // The signal of answer() stops it.
  async stop(): Promise<void> {}

  // By answers, so that this model has to wait.
  #isWanted(model: string): boolean {
    return this.#wanted.answers > 0 && this.#wanted.id !== model;
  }

  #checkIdle(model: string): void {
    if (!this.#isWanted(model)) return;
    throw new EngineError({ kind: 'busy', message: `The model ${this.#wanted.id} is writing; a tab has room for one.` });
  }

  // Of the model, which is loaded if it is not; another one goes.
  async #engine(id: string, signal?: AbortSignal, keep = false): Promise<PunaEngine> {
    signal?.throwIfAborted();
    if (this.#current?.id !== id) {
      if (this.#current) void this.unload(this.#current.id);
      this.#begin(id, keep);
    }
    const current = this.#current!;
    ++current.waiting;
    try {
      return await unlessStopped(current.engine, signal);
    } catch (error) {
      throw signal?.aborted ? signal.reason : tabError(error);
    } finally {
      // What nobody waits for any more ends; what was downloaded of it stays.
      if (--current.waiting === 0 && this.#current === current && !this.#loaded) void this.unload(id);
    }
  }

  #begin(id: string, keep: boolean): void {
    const stop = new AbortController();
    const loading: Loading = {
      id,
      stop,
      waiting: 0,
      downloads: false,
      engine: this.#load(id, keep, stop.signal, (change) => Object.assign(loading, change)),
    };
    this.#current = loading;
    this.#failed.delete(id);
    this.#tell();
    loading.engine.then(
      (engine) => {
        if (this.#current !== loading) return;
        this.#loaded = { id, engine };
        this.#tell();
        void this.#serve();
      },
      (error: unknown) => {
        if (!stop.signal.aborted) this.#failed.set(id, (error as Error).message);
        if (this.#current === loading) this.#current = undefined;
        this.#tell();
      },
    );
  }

  async #load(
    id: string,
    keep: boolean,
    signal: AbortSignal,
    changed: (change: Partial<Loading>) => void,
  ): Promise<PunaEngine> {
    await this.#gone;
    const puna = await this.getPackage();
    const dropped = this.#dropped.get(id);
    const encoder = this.#encoders.get(id);
    return puna.load(dropped ?? id, {
      ...(encoder === undefined ? {} : { mmproj: encoder }),
      share: !dropped,
      keep,
      signal,
      onProgress: ({ stage, doneBytes, totalBytes }) => {
        changed({ downloads: stage !== 'load', progress: { doneBytes, totalBytes: totalBytes ?? 0 } });
        this.#tell();
      },
    });
  }

  // The page works without, so what goes wrong is no matter for the reader.
  async #serve(): Promise<void> {
    const loaded = this.#loaded;
    if (!this.#serves || !loaded) return;
    try {
      const end = await answerV1(await this.getPackage(), loaded.engine);
      if (this.#loaded === loaded) this.#endServing = end;
      else end();
    } catch (error) {
      console.debug('puna: /v1 is not answered by this page:', error);
    }
  }

  async #listed(): Promise<ModelInfo[]> {
    const puna = await this.getPackage();
    const stored = await puna.models.list();
    const out: ModelInfo[] = [];
    for (const { name, family, fileType, bytes } of puna.models.catalogue) {
      const here = stored.some((each) => storedId(each, puna.models) === name && each.complete);
      out.push({ ...this.#plain(name, bytes, here), architecture: family, quantization: fileType });
    }
    // In part in one store and whole in another, it is here.
    for (const each of [...stored].sort((a, b) => Number(b.complete) - Number(a.complete))) {
      const { bytes, totalBytes, complete, mmproj, encoder } = each;
      const id = storedId(each, puna.models);
      if (encoder || out.some((known) => known.id === id)) continue;
      // What its encoder takes is known when it is loaded; most see.
      out.push({ ...this.#plain(id, totalBytes ?? bytes, complete), images: mmproj !== null });
    }
    for (const [name, files] of this.#dropped) {
      if (out.some((each) => each.id === name)) continue;
      out.push(
        this.#plain(
          name,
          files.reduce((sum, file) => sum + file.size, 0),
          true,
        ),
      );
    }
    return out;
  }

  #plain(id: string, bytes: number, here: boolean): ModelInfo {
    const info: ModelInfo = {
      id,
      runsOn: 'tab',
      state: 'unloaded',
      bytes,
      images: false,
      audio: false,
      thinks: false,
      tools: false,
      thinkingSwitch: false,
      efforts: [],
      here,
      switchable: true,
      removable: here,
      defaults: {},
    };
    const why = tooLarge(bytes, this.#state);
    if (why !== undefined) info.why = why;
    return info;
  }

  #list(): ModelInfo[] {
    const current = this.#current;
    const models =
      current && !this.#known.some(({ id }) => id === current.id)
        ? [...this.#known, this.#plain(current.id, 0, false)]
        : this.#known;
    return models.map((model) => this.#now(model));
  }

  // As it is at the moment.
  #now(model: ModelInfo): ModelInfo {
    const why = this.#failed.get(model.id);
    if (why !== undefined) return { ...model, state: 'failed', why };
    const current = this.#current;
    if (current?.id !== model.id) return model;
    const { info } = this.#loaded?.engine ?? {};
    if (!info) {
      const state = current.downloads ? 'downloading' : 'loading';
      return current.progress ? { ...model, state, progress: current.progress } : { ...model, state };
    }
    const { architecture, context, trained_context, media } = info;
    return {
      ...model,
      state: 'loaded',
      here: true,
      architecture,
      images: media?.images ?? false,
      audio: media?.audio ?? false,
      contextTokens: context,
      trainedContextTokens: trained_context,
    };
  }

  #tell(): void {
    const models = this.#list();
    for (const changed of this.#watchers) changed(models);
  }
}

// As `work` ends, unless the signal comes before: then with its reason.
function unlessStopped<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
