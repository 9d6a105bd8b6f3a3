// A loaded model, as the page uses it.
import { collectChat, collectCompletion } from './collect.js';
import { toPunaError } from './errors.js';
import type {
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  CompletionChunk,
  CompletionRequest,
  EmbeddingRequest,
  EmbeddingResponse,
} from './openai_types.js';
import type { Connection, EventOf, Params, TextMethod } from './protocol.js';
import type { LoadedModel, LogitsInput, MediaInput, Memory } from './worker/engine_api.js';
import type { EngineState } from './worker/recovering_engine.js';

export interface RequestOptions {
  signal?: AbortSignal; // stops it
}

// The chunks of an answer. Leaving the loop stops the engine.
export interface Answer<Chunk, Whole> extends AsyncIterable<Chunk> {
  // All of it at once, as `stream: false` gives it. Not together with a loop.
  completion(): Promise<Whole>;
}

export class Engine {
  private readonly watching = new AbortController();

  private constructor(
    private readonly connection: Connection,
    private current: LoadedModel,
    onState: (state: EngineState) => void,
  ) {
    const onEvent = (event: unknown) => {
      const state = event as EngineState;
      this.current = state.info ?? this.current;
      onState(state);
    };
    connection.call('watch', null, { onEvent, signal: this.watching.signal }).catch(() => undefined);
  }

  // Internal: use Puna.load().
  static of(connection: Connection, info: LoadedModel, onState: (state: EngineState) => void): Engine {
    return new Engine(connection, info, onState);
  }

  // Model, device, context and memory at load.
  get info(): LoadedModel {
    return this.current;
  }

  // A chat's answer as OpenAI's chunks; the last one has finish_reason, usage and timings.
  chat(request: ChatRequest, options: RequestOptions = {}): Answer<ChatChunk, ChatCompletion> {
    return this.answer('chat', request, options, collectChat);
  }

  // A text that goes on where the prompt ends.
  complete(request: CompletionRequest, options: RequestOptions = {}): Answer<CompletionChunk, CompletionChunk> {
    return this.answer('complete', request, options, collectCompletion);
  }

  embed(request: EmbeddingRequest, options: RequestOptions = {}): Promise<EmbeddingResponse> {
    return this.connection.call('embed', request, options);
  }

  // Tokens of the prompt that a chat's messages make, with those of its pictures and sounds, which are not encoded for it.
  countTokens(request: ChatRequest): Promise<number> {
    return this.connection.call('countTokens', request);
  }

  // Token ids; `special`: with what the model puts around a text, and markers read as such.
  tokenize(text: string, options: { special?: boolean } = {}): Promise<number[]> {
    return this.connection.call('tokenize', { text, options });
  }

  // The text of token ids; a character that is cut off becomes U+FFFD.
  async detokenize(tokens: readonly number[]): Promise<string> {
    return new TextDecoder().decode(await this.connection.call('detokenize', [...tokens]));
  }

  // The logits of every position: [tokens, vocabulary], row by row. Each row of a picture or sound in a prompt is a position.
  logits(input: LogitsInput): Promise<Float32Array> {
    return this.connection.call('logits', input);
  }

  // What the encoder makes of a picture or sound: [rows, engine.info.media.width], as they stand in a prompt.
  embedMedia(input: MediaInput): Promise<Float32Array> {
    return this.connection.call('embedMedia', input);
  }

  // Speed of prefill and decode on this device; the options and results of `puna bench --json`.
  bench(options: object = {}, { signal }: RequestOptions = {}): Promise<object> {
    return this.connection.call('bench', options, { signal });
  }

  // Bytes in use now.
  memory(): Promise<Memory> {
    return this.connection.call('memory', null);
  }

  // Ends the worker and gives the GPU's memory back. Requests that run fail with `closed`.
  async close(): Promise<void> {
    this.watching.abort();
    await Promise.race([this.connection.call('close', null), new Promise((resolve) => setTimeout(resolve, 1000))]).catch(() => undefined);
    this.connection.close();
  }

  private answer<M extends TextMethod, Whole>(
    method: M,
    request: Params<M>,
    { signal }: RequestOptions,
    collect: (chunks: AsyncIterable<EventOf<M>>) => Promise<Whole>,
  ): Answer<EventOf<M>, Whole> {
    const chunks = () => this.connection.stream(method, request, { signal });
    return {
      [Symbol.asyncIterator]: chunks,
      completion: () => collect({ [Symbol.asyncIterator]: chunks }).catch((error) => Promise.reject(toPunaError(error))),
    };
  }
}

