// Requests and answers in OpenAI's shapes, as far as pages use them; fields that are not named here are passed to the engine.

// A picture or sound is a Blob (a File, for example) or, as in OpenAI's shapes, text: a data: address, or base64 with its format.
export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'image'; image: Blob }
  | { type: 'image_url'; image_url: { url: string | Blob; detail?: string } }
  | { type: 'audio'; audio: Blob }
  | { type: 'input_audio'; input_audio: { data: string | Blob; format?: string } };

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  content: string | ContentPart[] | null;
  reasoning_content?: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

// A JSON schema: what it may say is in docs/structured-output.md.
export type JsonSchema = Record<string, unknown> | boolean;

// What an answer is, as a whole.
export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | { type: 'json_schema'; json_schema: { name: string; schema: JsonSchema; strict?: boolean; description?: string } };

export interface Tool {
  type: 'function';
  function: { name: string; description?: string; parameters?: JsonSchema; strict?: boolean };
}

export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { type: 'function'; function: { name: string } }
  | { type: 'allowed_tools'; allowed_tools: { mode: 'auto' | 'required'; tools: { type: 'function'; function: { name: string } }[] } };

export interface Sampling {
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  seed?: number;
  stop?: string | string[];
  max_tokens?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  repeat_penalty?: number;
  logit_bias?: Record<string, number>;
  response_format?: ResponseFormat;
  grammar?: string; // GBNF
  [field: string]: unknown;
}

export interface ChatRequest extends Sampling {
  messages: ChatMessage[];
  max_completion_tokens?: number;
  tools?: Tool[];
  tool_choice?: ToolChoice;
  parallel_tool_calls?: boolean;
}

// A text in which `<__media__>` stands for each of `media`, in their order.
export interface MediaPrompt {
  prompt: string;
  media: readonly Blob[];
}

export interface CompletionRequest extends Sampling {
  prompt: string | number[] | MediaPrompt;
  echo?: boolean;
}

export interface EmbeddingRequest {
  input: string | string[] | number[] | number[][];
  [field: string]: unknown;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [field: string]: unknown;
}

export interface Timings {
  prompt_n?: number;
  prompt_ms?: number;
  prompt_per_second?: number;
  predicted_n?: number;
  predicted_ms?: number;
  predicted_per_second?: number;
  [field: string]: unknown;
}

export interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function?: { name?: string; arguments?: string };
}

export interface ChatDelta {
  role?: 'assistant';
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: ToolCallDelta[];
}

export interface ChatChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: { index: number; delta: ChatDelta; finish_reason: string | null; logprobs?: unknown }[];
  usage?: Usage | null;
  timings?: Timings;
  [field: string]: unknown;
}

export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: { index: number; message: ChatMessage; finish_reason: string | null; logprobs?: unknown }[];
  usage?: Usage;
  timings?: Timings;
}

export interface CompletionChunk {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  choices: { index: number; text: string; finish_reason: string | null; logprobs?: unknown }[];
  usage?: Usage | null;
  timings?: Timings;
  [field: string]: unknown;
}

export interface EmbeddingResponse {
  object: 'list';
  model: string;
  data: { object: 'embedding'; index: number; embedding: number[] | string }[];
  usage: { prompt_tokens: number; total_tokens: number };
}
