// The models of a server or router, over HTTP.
import {
  EngineError,
  type AnswerRequest,
  type ChatMessage,
  type Engine,
  type EngineEvent,
  type ModelInfo,
  type ServerState,
} from '../../types/engine.ts';
import { chat } from './chat.ts';
import { NoServer, ok, type ServerAddress } from './connection.ts';
import { countTokens } from './count.ts';
import { type Progress, pull } from './downloads.ts';
import { lookup, resumeStream, stopStream } from './kept.ts';
import { listModels } from './model_list.ts';
import { watchServer } from './watch.ts';

export class HttpEngine implements Engine {
  readonly runsOn = 'server';
  #state: ServerState = { reachable: false, kind: 'server' };
  #models: ModelInfo[] = [];
  readonly #downloads = new Map<string, Progress>();
  readonly #watchers = new Set<(models: ModelInfo[]) => void>();

  constructor(readonly server: ServerAddress) {}

  // As of the last look.
  get state(): ServerState {
    return this.#state;
  }

  async models(signal?: AbortSignal): Promise<ModelInfo[]> {
    try {
      const { state, models } = await listModels(this.server, signal);
      this.#state = state;
      this.#models = models;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      this.#state = this.#away(error);
      // What is away for a while is still listed.
      if (this.#state.kind === 'none') this.#models = [];
      this.#tell();
      throw error;
    }
    this.#tell();
    return this.#list();
  }

  watch(changed: (models: ModelInfo[]) => void): () => void {
    this.#watchers.add(changed);
    const ended = new AbortController();
    const look = async () => {
      await this.models(ended.signal).catch(() => undefined);
      return this.#state;
    };
    void watchServer(this.server, look, ended.signal);
    return () => {
      ended.abort();
      this.#watchers.delete(changed);
    };
  }

  async load(model: string, signal?: AbortSignal): Promise<void> {
    await ok(this.server, 'models/load', { method: 'POST', body: { model }, signal: signal ?? null });
  }

  async unload(model: string): Promise<void> {
    await ok(this.server, 'models/unload', { method: 'POST', body: { model } });
  }

  idOf(address: string): string {
    return address;
  }

  async download(address: string, signal: AbortSignal): Promise<void> {
    this.#downloads.set(address, { doneBytes: 0, totalBytes: 0 });
    this.#tell();
    try {
      await pull(
        this.server,
        address,
        (progress) => {
          this.#downloads.set(address, progress);
          this.#tell();
        },
        signal,
      );
    } finally {
      this.#downloads.delete(address);
      this.#tell();
    }
    await this.models();
  }

  async remove(model: string): Promise<void> {
    await ok(this.server, 'api/delete', { method: 'DELETE', body: { model } });
    await this.models();
  }

  count(model: string, messages: ChatMessage[], signal?: AbortSignal): Promise<number | undefined> {
    return countTokens(this.server, model, messages, signal);
  }

  answer(request: AnswerRequest, signal: AbortSignal): AsyncIterable<EngineEvent> {
    return chat(this.server, request, signal, () => this.#isLoading(request.model));
  }

  resume(streamId: string, offset: number, signal: AbortSignal): AsyncIterable<EngineEvent> {
    return resumeStream(this.server, streamId, offset, signal);
  }

  async kept(streamIds: string[]): Promise<Map<string, { writing: boolean }>> {
    const found = await lookup(this.server, streamIds);
    return new Map(found.map((stream) => [stream.conversation_id, { writing: !stream.is_done }]));
  }

  stop(streamId: string): Promise<void> {
    return stopStream(this.server, streamId);
  }

  // A model that loads, or waits for the room of another, says nothing for long.
  async #isLoading(model: string): Promise<boolean> {
    await this.models();
    const state = this.#models.find((each) => each.id === model)?.state;
    return this.#state.kind === 'router' && state !== undefined && state !== 'loaded' && state !== 'failed';
  }

  #away(error: EngineError): ServerState {
    const { fault } = error;
    // A static host knows none of the routes.
    const isHost = error instanceof NoServer || fault.kind === 'model';
    if (isHost) return { reachable: false, kind: 'none' };
    return { reachable: false, kind: this.#state.kind === 'none' ? 'server' : this.#state.kind, why: fault };
  }

  #list(): ModelInfo[] {
    // One that is listed may be fetched anew.
    const listed = this.#models.map((model): ModelInfo => {
      const progress = this.#downloads.get(model.id);
      return progress ? { ...model, state: 'downloading', progress } : model;
    });
    const others = [...this.#downloads].filter(([id]) => !this.#models.some((model) => model.id === id));
    const fetched = others.map(
      ([id, progress]): ModelInfo => ({
        id,
        runsOn: 'server',
        state: 'downloading',
        progress,
        images: false,
        audio: false,
        thinks: false,
        tools: false,
        thinkingSwitch: false,
        efforts: [],
        here: false,
        switchable: false,
        removable: false,
        defaults: {},
      }),
    );
    return [...listed, ...fetched];
  }

  #tell(): void {
    const models = this.#list();
    for (const changed of this.#watchers) changed(models);
  }
}
