// What crosses between a page and its worker, and between tabs: calls of ./rpc with these names, arguments, answers and events. Whoever
// answers or hands on calls has a table with a row for each of them, which does not compile while one is missing.
import type { ChatChunk, ChatRequest, CompletionChunk, CompletionRequest, EmbeddingRequest, EmbeddingResponse } from './openai_types.js';
import type { CallOptions } from './rpc/client.js';
import type { CallContext } from './rpc/server.js';
import type { Progress } from './sources/progress.js';
import type { SourceSpec } from './sources/source.js';
import type { StorageChoice } from './storage/open_store.js';
import type { EngineOptions, LoadedModel, LogitsInput, MediaInput, Memory } from './worker/engine_api.js';
import type { EngineState } from './worker/recovering_engine.js';

export interface LoadParams {
  source: SourceSpec;
  mmproj?: SourceSpec | null; // the encoder of pictures and sounds; null: none, also where the model is stored with one
  options: EngineOptions;
  storage: StorageChoice;
  keep: boolean;
  connections?: number;
}

interface Calls {
  load: { params: LoadParams; result: LoadedModel; event: Progress };
  watch: { params: null; result: void; event: EngineState };
  chat: { params: ChatRequest; result: void; event: ChatChunk };
  complete: { params: CompletionRequest; result: void; event: CompletionChunk };
  embed: { params: EmbeddingRequest; result: EmbeddingResponse; event: never };
  tokenize: { params: { text: string; options?: { special?: boolean } }; result: number[]; event: never };
  detokenize: { params: number[]; result: Uint8Array; event: never };
  logits: { params: LogitsInput; result: Float32Array; event: never };
  embedMedia: { params: MediaInput; result: Float32Array; event: never };
  countTokens: { params: ChatRequest; result: number; event: never };
  bench: { params: object; result: object; event: never };
  memory: { params: null; result: Memory; event: never };
  close: { params: null; result: void; event: never };
}

export type Method = keyof Calls;
export type TextMethod = 'chat' | 'complete'; // those that are read as streams
export type Params<M extends Method> = Calls[M]['params'];
export type Result<M extends Method> = Calls[M]['result'];
export type EventOf<M extends Method> = Calls[M]['event'];

export type CallHandlers = { [M in Method]: (params: Params<M>, context: CallContext) => Result<M> | Promise<Result<M>> };

// What an engine is talked to by, in this tab or another.
export interface Connection {
  call<M extends Method>(method: M, params: Params<M>, options?: CallOptions): Promise<Result<M>>;
  // Leaving the loop cancels the call. A reader that is behind pauses the sender.
  stream<M extends TextMethod>(method: M, params: Params<M>, options?: { signal?: AbortSignal }): AsyncGenerator<EventOf<M>, void, void>;
  close(): void;
}
