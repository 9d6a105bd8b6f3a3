// Chunks of an answer in OpenAI's shapes, as servers send them and the package gives them, into events.
import type { Timings } from '../types/conversation.ts';
import type { EngineEvent } from '../types/engine.ts';

export interface Chunk {
  choices?: {
    delta?: {
      content?: string | null;
      reasoning_content?: string | null;
      tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[];
    };
    finish_reason?: string | null;
  }[];
  usage?: {
    prompt_tokens?: number;
    completion_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number };
  } | null;
  timings?: { cache_n?: number; prompt_n?: number; prompt_ms?: number; predicted_n?: number; predicted_ms?: number };
  prompt_progress?: { total: number; cache: number; processed: number; time_ms: number };
}

type Done = Extract<EngineEvent, { type: 'done' }>;

const REASONS: Record<string, Done['reason']> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  cancelled: 'cancelled',
};

export class ChunkReader {
  #reason: Done['reason'] | undefined;
  #usage: NonNullable<Chunk['usage']> = {};
  #timings: NonNullable<Chunk['timings']> = {};

  *read(chunk: Chunk): Generator<EngineEvent> {
    const progress = chunk.prompt_progress;
    if (progress) {
      const { processed, total, cache, time_ms } = progress;
      yield { type: 'reading', done: processed, total, cached: cache, ms: time_ms };
    }
    if (chunk.usage) this.#usage = chunk.usage;
    if (chunk.timings) this.#timings = chunk.timings;
    const choice = chunk.choices?.[0];
    if (!choice) return;
    const { reasoning_content: thought, content, tool_calls: calls } = choice.delta ?? {};
    if (thought) yield { type: 'thought', text: thought };
    if (content) yield { type: 'text', text: content };
    for (const call of calls ?? []) {
      const event: EngineEvent = { type: 'call', index: call.index, arguments: call.function?.arguments ?? '' };
      if (call.id !== undefined) event.id = call.id;
      if (call.function?.name !== undefined) event.name = call.function.name;
      yield event;
    }
    if (choice.finish_reason) this.#reason = REASONS[choice.finish_reason] ?? 'stop';
  }

  // Whether the answer has told how it ended.
  get ended(): boolean {
    return this.#reason !== undefined;
  }

  done(): Done {
    const { cache_n, prompt_n = 0, prompt_ms = 0, predicted_n, predicted_ms = 0 } = this.#timings;
    const cachedTokens = cache_n ?? this.#usage.prompt_tokens_details?.cached_tokens ?? 0;
    const timings: Omit<Timings, 'firstTokenMs'> = {
      promptTokens: this.#usage.prompt_tokens ?? prompt_n + cachedTokens,
      cachedTokens,
      promptMs: prompt_ms,
      answerTokens: predicted_n ?? this.#usage.completion_tokens ?? 0,
      answerMs: predicted_ms,
    };
    return { type: 'done', reason: this.#reason ?? 'stop', timings };
  }
}
