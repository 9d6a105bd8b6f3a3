// Streams as one answer, as `stream: false` gives it.
import type { ChatChunk, ChatCompletion, ChatMessage, CompletionChunk, ToolCall } from './openai_types.js';
import { PunaError } from './errors.js';

// Lists with an element a token: `content` of chats; of completions `tokens`, `token_logprobs` and others too.
type Logprobs = Record<string, unknown[]> | null;

interface Choice {
  message: ChatMessage;
  logprobs: Logprobs;
  finish_reason: string | null;
}

export async function collectChat(chunks: AsyncIterable<ChatChunk>): Promise<ChatCompletion> {
  const choices = new Map<number, Choice>();
  let last: ChatChunk | null = null;
  let tail: Pick<ChatChunk, 'usage' | 'timings'> = {};
  for await (const chunk of chunks) {
    last = chunk;
    tail = { usage: chunk.usage ?? tail.usage, timings: chunk.timings ?? tail.timings };
    for (const { index, delta, logprobs, finish_reason } of chunk.choices) {
      const choice: Choice = choices.get(index) ?? { message: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null };
      choices.set(index, choice);
      const { message } = choice;
      if (delta.content) message.content += delta.content;
      if (delta.reasoning_content) message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content;
      for (const piece of delta.tool_calls ?? []) addToolCall((message.tool_calls ??= []), piece);
      choice.logprobs = withLogprobs(choice.logprobs, logprobs);
      choice.finish_reason = finish_reason ?? choice.finish_reason;
    }
  }
  if (!last) throw new PunaError('internal', 'The engine ended without an answer.');
  const { id, created, model } = last;
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [...choices].map(([index, choice]) => ({ index, ...choice })),
    ...(tail.usage && { usage: tail.usage }),
    ...(tail.timings && { timings: tail.timings }),
  };
}

function addToolCall(calls: ToolCall[], piece: { index: number; id?: string; function?: { name?: string; arguments?: string } }): void {
  const call = (calls[piece.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
  call.id += piece.id ?? '';
  call.function.name += piece.function?.name ?? '';
  call.function.arguments += piece.function?.arguments ?? '';
}

// Those of a chunk behind the ones that came before; null where there are none.
function withLogprobs(all: Logprobs, piece: unknown): Logprobs {
  if (!piece) return all;
  const lists = all ?? {};
  for (const [name, list] of Object.entries(piece as NonNullable<Logprobs>)) (lists[name] ??= []).push(...list);
  return lists;
}

export async function collectCompletion(chunks: AsyncIterable<CompletionChunk>): Promise<CompletionChunk> {
  const choices = new Map<number, { text: string; logprobs: Logprobs; finish_reason: string | null }>();
  let last: CompletionChunk | null = null;
  let tail: Pick<CompletionChunk, 'usage' | 'timings'> = {};
  for await (const chunk of chunks) {
    last = chunk;
    tail = { usage: chunk.usage ?? tail.usage, timings: chunk.timings ?? tail.timings };
    for (const { index, text, logprobs, finish_reason } of chunk.choices) {
      const choice = choices.get(index) ?? { text: '', logprobs: null, finish_reason: null };
      choices.set(index, { text: choice.text + text, logprobs: withLogprobs(choice.logprobs, logprobs), finish_reason: finish_reason ?? choice.finish_reason });
    }
  }
  if (!last) throw new PunaError('internal', 'The engine ended without an answer.');
  return { ...last, ...tail, choices: [...choices].map(([index, choice]) => ({ index, ...choice })) };
}
