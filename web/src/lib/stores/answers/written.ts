// What has been written of an answer: the events put together, and what of it may be saved with which offset.
import type { Message, Timings, ToolCall } from '../../types/conversation.ts';
import type { EngineEvent } from '../../types/engine.ts';

// Stands where a part of the answer was lost for good.
export const GAP = '\n\n[…]\n\n';

export type Saved = Pick<Message, 'content'> & Pick<Partial<Message>, 'thought' | 'thoughtMs' | 'toolCalls' | 'offset'>;

export class Written {
  content: string;
  thought: string;
  calls: ToolCall[];
  timings: Omit<Timings, 'firstTokenMs'> | undefined;
  firstTokenMs: number | undefined;
  thoughtMs: number | undefined;
  // Tokens a second so far, by pieces, which are mostly tokens.
  rate: number | undefined;
  reason: Extract<EngineEvent, { type: 'done' }>['reason'] | undefined;

  readonly #now: () => number;
  readonly #sent: number;
  readonly #counts: boolean;
  readonly #callsBefore: number;
  #offset: number | undefined;
  #firstAt: number | undefined;
  #pieces = 0;
  #thoughtAt: number | undefined;
  #thoughtBefore: number;
  #saved: Saved;

  // Goes on behind what the message has. `counts`: the engine tells offsets, and only what stands before one may be
  // saved with it. `callsBefore`: so many of the message's calls are of streams before this one, which counts its own
  // from 0.
  constructor(message: Message, counts: boolean, callsBefore = 0, now: () => number = () => performance.now()) {
    this.content = message.content;
    this.thought = message.thought ?? '';
    this.calls = (message.toolCalls ?? []).map((call) => ({ ...call }));
    this.thoughtMs = message.thoughtMs;
    this.#thoughtBefore = message.thoughtMs ?? 0;
    this.#offset = message.offset;
    this.#counts = counts;
    this.#callsBefore = callsBefore;
    this.#now = now;
    this.#sent = now();
    this.#saved = this.#state();
  }

  // What may be saved: the state at the last offset.
  get saved(): Saved {
    return this.#saved;
  }

  apply(event: EngineEvent): void {
    switch (event.type) {
      case 'text':
        this.#piece();
        this.#endThought();
        this.content += event.text;
        break;
      case 'thought':
        this.#piece();
        this.#thoughtAt ??= this.#now();
        this.thought += event.text;
        break;
      case 'call':
        this.#piece();
        this.#endThought();
        this.#call(event);
        break;
      case 'gap':
        this.content += GAP;
        break;
      case 'offset':
        this.#offset = event.offset;
        break;
      case 'done':
        this.#endThought();
        this.timings = event.timings;
        this.reason = event.reason;
        break;
      default:
        return;
    }
    if (!this.#counts || event.type === 'offset' || event.type === 'done') this.#saved = this.#state();
  }

  // Thinking has so long been under way, or was.
  thinkingMs(): number | undefined {
    if (this.#thoughtAt === undefined) return this.thoughtMs;
    return this.#thoughtBefore + Math.round(this.#now() - this.#thoughtAt);
  }

  #piece(): void {
    const now = this.#now();
    if (this.#firstAt === undefined) {
      this.#firstAt = now;
      this.firstTokenMs = Math.round(now - this.#sent);
      return;
    }
    ++this.#pieces;
    // The first moments tell little.
    if (now - this.#firstAt > 250) this.rate = (this.#pieces * 1000) / (now - this.#firstAt);
  }

  #endThought(): void {
    if (this.#thoughtAt === undefined) return;
    this.thoughtMs = this.thinkingMs();
    this.#thoughtBefore = this.thoughtMs ?? 0;
    this.#thoughtAt = undefined;
  }

  #call({ index, id, name, arguments: text }: Extract<EngineEvent, { type: 'call' }>): void {
    const at = this.#callsBefore + index;
    // Numbers that leave some out are nobody's call.
    if (at === this.calls.length) this.calls.push({ id: '', name: '', arguments: '' });
    const call = index < 0 ? undefined : this.calls[at];
    if (!call) return;
    if (id !== undefined) call.id = id;
    if (name !== undefined) call.name = name;
    call.arguments += text;
  }

  #state(): Saved {
    const state: Saved = { content: this.content };
    if (this.thought !== '') state.thought = this.thought;
    const thoughtMs = this.thinkingMs();
    if (thoughtMs !== undefined) state.thoughtMs = thoughtMs;
    if (this.calls.length > 0) state.toolCalls = this.calls.map((call) => ({ ...call }));
    if (this.#offset !== undefined) state.offset = this.#offset;
    return state;
  }
}
