// An answer whose engine went away in the middle. The request is run again from its start, with the same seed; what the reader has
// seen is left out, so that one answer is read. Another text than before (another device rounds otherwise) ends it with `gpu_lost`.
import { PunaError } from '../errors.js';
import type { ChatChunk, CompletionChunk, Sampling } from '../openai_types.js';

// What was said, by kind of text, and while it is repeated what is still to come of it.
class Said {
  private readonly texts = new Map<string, string>();
  private awaited: Map<string, string> | null = null;

  repeat(): void {
    this.awaited = new Map(this.texts);
  }

  // What of the text is new; null when it is not what was said before.
  take(kind: string, text: string): string | null {
    const awaited = this.awaited?.get(kind) ?? '';
    const known = Math.min(awaited.length, text.length);
    if (text.slice(0, known) !== awaited.slice(0, known)) return null;
    this.awaited?.set(kind, awaited.slice(known));
    const fresh = text.slice(known);
    this.texts.set(kind, (this.texts.get(kind) ?? '') + fresh);
    return fresh;
  }
}

// Passes the chunks of one answer on, and of its repetition those that bring news.
export abstract class Replay<Chunk extends { id: string; choices: { index: number; finish_reason: string | null }[] }> {
  protected readonly said = new Said();
  private id: string | null = null;
  protected repeating = false;
  finished = false; // the reader has seen the end
  diverged = false;

  // The answer begins again.
  repeat(): void {
    this.repeating = true;
    this.said.repeat();
  }

  // The chunk as the reader is to see it; null when it brings nothing new.
  pass(chunk: Chunk): Chunk | null {
    if (this.diverged || this.finished && chunk.choices.some((choice) => choice.finish_reason)) return null;
    this.id ??= chunk.id;
    const fresh = this.fresh(chunk);
    if (fresh?.choices.some((choice) => choice.finish_reason)) this.finished = true;
    return fresh && { ...fresh, id: this.id };
  }

  protected abstract fresh(chunk: Chunk): Chunk | null;

  // The text without what was said before; null, and diverged, when it is another one.
  protected take(kind: string, text: string): string | null {
    const fresh = this.said.take(kind, text);
    if (fresh === null) this.diverged = true;
    return fresh;
  }
}

export class ChatReplay extends Replay<ChatChunk> {
  private begun = false; // the reader has seen who speaks

  protected override fresh(chunk: ChatChunk): ChatChunk | null {
    if (!this.repeating && chunk.choices.length === 0) return chunk;
    const choices: ChatChunk['choices'] = [];
    for (const choice of chunk.choices) {
      const delta = this.freshDelta(choice.index, choice.delta);
      if (!delta) return null;
      if (!this.repeating || Object.keys(delta).length > 0 || choice.finish_reason) choices.push({ ...choice, delta });
    }
    return choices.length > 0 || chunk.usage ? { ...chunk, choices } : null;
  }

  private freshDelta(index: number, delta: ChatChunk['choices'][0]['delta']): ChatChunk['choices'][0]['delta'] | null {
    const { role, content, reasoning_content, tool_calls, ...rest } = delta;
    const fresh: ChatChunk['choices'][0]['delta'] = { ...rest };
    if (role && !this.begun) Object.assign(fresh, { role, content });
    this.begun = true;
    for (const [name, text] of [['content', content], ['reasoning_content', reasoning_content]] as const) {
      if (!text) continue;
      const news = this.take(`${name} ${index}`, text);
      if (news === null) return null;
      if (news !== '') fresh[name] = news;
    }
    if (tool_calls) {
      const news = this.take(`tools ${index}`, JSON.stringify(tool_calls));
      if (news === null) return null;
      if (news !== '') fresh.tool_calls = tool_calls;
    }
    return fresh;
  }
}

export class CompletionReplay extends Replay<CompletionChunk> {
  protected override fresh(chunk: CompletionChunk): CompletionChunk | null {
    const choices: CompletionChunk['choices'] = [];
    for (const choice of chunk.choices) {
      const text = this.take(`text ${choice.index}`, choice.text);
      if (text === null) return null;
      if (!this.repeating || text !== '' || choice.finish_reason) choices.push({ ...choice, text });
    }
    return choices.length > 0 || chunk.usage || !this.repeating ? { ...chunk, choices } : null;
  }
}

// The request with a seed, so that it can be repeated.
export function seeded<T extends Sampling>(request: T): T {
  return request.seed === undefined || request.seed === null ? { ...request, seed: crypto.getRandomValues(new Uint32Array(1))[0]! } : request;
}

export function lostFor(reason: string, why: string): PunaError {
  return new PunaError('gpu_lost', `The GPU went away (${reason}), and ${why}. Send the request again.`);
}
