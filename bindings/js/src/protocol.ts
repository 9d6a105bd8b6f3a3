// What crosses between a page and its worker, and between tabs: calls of ../rpc with these names and arguments.
//   load(LoadParams) -> LoadedModel, events Progress      watch(null), events EngineState
//   chat(ChatRequest), events ChatChunk                   complete(CompletionRequest), events CompletionChunk
//   embed(EmbeddingRequest) -> EmbeddingResponse          tokenize({text, options}) -> number[]
//   detokenize(number[]) -> Uint8Array                    logits(LogitsInput) -> Float32Array
//   embedMedia(MediaInput) -> Float32Array                countTokens(ChatRequest) -> number
//   bench(object) -> object                               memory(null) -> Memory
//   close(null)
import type { SourceSpec } from './sources/source.js';
import type { StorageChoice } from './storage/open_store.js';
import type { EngineOptions } from './worker/engine_api.js';

export interface LoadParams {
  source: SourceSpec;
  mmproj?: SourceSpec | null; // the encoder of pictures and sounds; null: none, also where the model is stored with one
  options: EngineOptions;
  storage: StorageChoice;
  keep: boolean;
  connections?: number;
}
