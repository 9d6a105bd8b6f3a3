// The engine as the worker sees it: the shape of EngineHost (../engine/engine_host.ts), so that tests can put another in its place.
import type { ModelFiles } from '../engine/model_files.js';
import type {
  ChatChunk,
  ChatRequest,
  CompletionChunk,
  CompletionRequest,
  EmbeddingRequest,
  EmbeddingResponse,
  MediaPrompt,
} from '../openai_types.js';

export interface EngineOptions {
  device?: 'auto' | 'gpu' | 'cpu';
  gpuFeatures?: 'all' | 'baseline';
  numerics?: 'fast' | 'exact';
  kvType?: 'f32' | 'f16' | 'q8_0' | 'q4_0';
  context?: number;
  threads?: number;
  imageMaxTokens?: number; // of a picture, where its encoder takes any size
  parallel?: number; // texts written at the same time; each has its own cache
  keepTexts?: boolean | { bytes?: number }; // in the browser's storage, so that their beginnings are not computed again
  selfTest?: boolean | 'always'; // whether the GPU is checked against the CPU first: true, what real GPUs get, unless it passed lately
}

export type LogitsInput = readonly number[] | MediaPrompt;

// A file of a picture or sound; or what an encoder reads of one, as numbers: [tiles, height, width, 3], or [mel bins, frames].
export type MediaInput = Blob | { values: Float32Array; shape: readonly number[] };

export interface Memory {
  weights_bytes: number;
  kv_bytes: number;
  arena_bytes: number;
  staging_bytes: number;
  heap_bytes: number;
}

export interface LoadedModel {
  name: string;
  architecture: string;
  device: { type: 'gpu' | 'cpu'; name: string; features: string[]; why: string; selfTest: 'passed' | 'passed before' | 'not run' };
  context: number; // tokens
  trained_context: number;
  vocab: number;
  chat: boolean; // there is a chat template
  embeddings: boolean; // a model for embeddings only
  // What it takes besides texts; null without an encoder. Rows of `width` numbers stand for a picture or sound in a prompt.
  // The marker stands for a file in `{ prompt_string, multimodal_data }`, the prompt of a body of /v1/completions.
  media: { images: boolean; audio: boolean; width: number; marker: string } | null;
  threads: number; // of the CPU; 0 on a GPU
  parallel: number;
  keepsTexts: { on: boolean; why: string };
  memory: Memory;
  load_ms: number;
}

export interface Host {
  load(model: ModelFiles, options: EngineOptions, onProgress: (doneBytes: number, totalBytes: number) => void, signal: AbortSignal): Promise<LoadedModel>;
  chat(request: ChatRequest, onChunk: (chunk: ChatChunk) => void | Promise<void>, signal: AbortSignal): Promise<void>;
  complete(request: CompletionRequest, onChunk: (chunk: CompletionChunk) => void | Promise<void>, signal: AbortSignal): Promise<void>;
  embed(request: EmbeddingRequest): Promise<EmbeddingResponse>;
  tokenize(text: string, options?: { special?: boolean }): Promise<number[]>;
  detokenize(tokens: number[]): Promise<Uint8Array>;
  logits(input: LogitsInput): Promise<Float32Array>;
  embedMedia(input: MediaInput): Promise<Float32Array>;
  countTokens(request: ChatRequest): Promise<number>;
  bench(options: object): Promise<object>;
  memory(): Memory;
  readonly lost: Promise<string>;
  settled(): Promise<void>; // what it does on its own (saving texts) is over
  close(): void;
}

export type CreateHost = () => Promise<Host>;
