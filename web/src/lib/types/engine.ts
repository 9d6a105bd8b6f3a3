// The one event type that answers are made of, whoever writes them: a server over HTTP or the engine of this tab.
import type { Fault, Timings, ToolCall } from './conversation.ts';

export type RunsOn = 'server' | 'tab';

export type EngineEvent =
  // So many requests are before this one.
  | { type: 'queued'; place: number }
  // The prompt is being read: tokens done of all, of these known before.
  | { type: 'reading'; done: number; total: number; cached: number; ms: number }
  | { type: 'text'; text: string }
  | { type: 'thought'; text: string }
  // A piece of a call of a tool: the first piece of an index has its id and name.
  | { type: 'call'; index: number; id?: string; name?: string; arguments: string }
  // So many bytes of the kept stream are in the events before this one (HTTP only).
  | { type: 'offset'; offset: number }
  // What came next is lost: the server no longer kept it. The events go on behind it.
  | { type: 'gap' }
  | { type: 'done'; reason: 'stop' | 'length' | 'tool_calls' | 'cancelled'; timings: Omit<Timings, 'firstTokenMs'> };

// What ends an answer that cannot go on. `canResume`: the same stream may be taken up again. `hadBegun`: the server had
// begun to answer, whether or not anything of it came.
export class EngineError extends Error {
  constructor(
    readonly fault: Fault,
    readonly canResume = false,
    readonly hadBegun = false,
  ) {
    super(fault.message);
    this.name = 'EngineError';
  }
}

export interface ChatPart {
  type: 'text' | 'image_url' | 'input_audio';
  text?: string;
  image_url?: { url: string };
  input_audio?: { data: string; format: string };
}

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | ChatPart[];
  reasoning_content?: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

export interface ToolSpec {
  name: string;
  description: string;
  parameters: Record<string, unknown>; // JSON schema
}

export interface AnswerRequest {
  model: string;
  messages: ChatMessage[];
  // Names and values of the request body (temperature, top_k, ..., chat_template_kwargs), already merged (settings).
  parameters: Record<string, unknown>;
  tools: ToolSpec[];
  // The last message is the beginning of the answer, which is to be continued.
  continues: boolean;
  // The answer's message id: the name of its kept stream.
  streamId: string;
}

export type ModelState = 'unloaded' | 'downloading' | 'loading' | 'loaded' | 'sleeping' | 'failed';

export interface ModelInfo {
  id: string;
  runsOn: RunsOn;
  state: ModelState;
  // Why it failed.
  why?: string;
  progress?: { doneBytes: number; totalBytes: number };
  architecture?: string;
  quantization?: string;
  bytes?: number;
  contextTokens?: number;
  trainedContextTokens?: number;
  // What it can take and do.
  images: boolean;
  audio: boolean;
  thinks: boolean;
  tools: boolean;
  // Whether its thinking can be switched off, and the names of how much it may think ('low', 'high', ...).
  thinkingSwitch: boolean;
  efforts: string[];
  // Its bytes lie where it runs, so that it needs no download.
  here: boolean;
  // Whether it can be loaded and unloaded by hand, and deleted.
  switchable: boolean;
  removable: boolean;
  // Sampling that holds where neither preset nor chat say otherwise.
  defaults: Record<string, unknown>;
}

// The server that the page speaks to. none: there is none at this address, as behind a static host.
export interface ServerState {
  reachable: boolean;
  kind: 'server' | 'router' | 'none';
  version?: string;
  // Why it is not reachable.
  why?: Fault;
}

// Why this tab cannot run models. absent: the build has no engine for it; insecure: plain http from another host; wasm: a browser
// without WebAssembly SIMD; private: the browser gives no storage.
export type TabLack = 'absent' | 'insecure' | 'wasm' | 'private';

export interface TabState {
  able: boolean;
  lack?: TabLack;
  // One sentence each: why not (or why slower than it could be), and what would help.
  why?: string;
  help?: string;
  // gpu: WebGPU on a real GPU; cpu: WebAssembly.
  device: 'gpu' | 'cpu' | 'none';
  memoryBytes?: number;
  usedBytes?: number;
  quotaBytes?: number;
}

export interface Engine {
  readonly runsOn: RunsOn;
  models(signal?: AbortSignal): Promise<ModelInfo[]>;
  // Calls back whenever a model's state or progress changes; gives the function that ends this.
  watch(changed: (models: ModelInfo[]) => void): () => void;
  load(model: string, signal?: AbortSignal): Promise<void>;
  unload(model: string): Promise<void>;
  download(address: string, signal: AbortSignal): Promise<void>;
  // The id by which the model of an address is listed.
  idOf(address: string): string;
  remove(model: string): Promise<void>;
  // Tokens of the prompt that these messages make; undefined where the engine cannot tell.
  count(model: string, messages: ChatMessage[], signal?: AbortSignal): Promise<number | undefined>;
  // Throws EngineError. Ends after `done`.
  answer(request: AnswerRequest, signal: AbortSignal): AsyncIterable<EngineEvent>;
  // Goes on with a kept stream from byte `offset` on.
  resume(streamId: string, offset: number, signal: AbortSignal): AsyncIterable<EngineEvent>;
  // Which of these streams are still kept, and whether they are still written.
  kept(streamIds: string[]): Promise<Map<string, { writing: boolean }>>;
  stop(streamId: string): Promise<void>;
}
