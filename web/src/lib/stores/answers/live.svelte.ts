// An answer that is being written, as components show it.
import type { Fault, Id, Message, ToolCall } from '../../types/conversation.ts';
import type { EngineEvent } from '../../types/engine.ts';
import type { Written } from './written.ts';

// lost: the connection is gone and is being taken up again. elsewhere: another tab writes it.
export type Phase = 'queued' | 'loading' | 'reading' | 'thinking' | 'writing' | 'tool' | 'lost' | 'elsewhere';

// once: this call. chat: every call of this tool in this conversation. always: in all.
export type Scope = 'once' | 'chat' | 'always';

export interface Permission {
  call: ToolCall;
  grant(scope: Scope): void;
  deny(): void;
}

// Reactive; text and thought change at most once a frame, and not at all while the page is hidden.
export interface LiveAnswer {
  readonly messageId: Id;
  readonly convId: Id;
  readonly phase: Phase;
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly ToolCall[];
  // Requests before this one, where the engine tells.
  readonly place: number | undefined;
  // Tokens of the prompt: read so far, of all. 0 of 0 before anything is known.
  readonly readDone: number;
  readonly readTotal: number;
  // Tokens a second so far.
  readonly rate: number | undefined;
  readonly firstTokenMs: number | undefined;
  readonly thoughtMs: number | undefined;
  // Waits for the reader's word on a call of a tool.
  readonly permission: Permission | undefined;
  // What was lost, while phase is 'lost'.
  readonly trouble: Fault | undefined;
}

// Calls back once before one of the next frames; never where nobody looks. pace.ts has that of the page.
export type Frame = (render: () => void) => void;

const PHASES: Partial<Record<EngineEvent['type'], Phase>> = {
  queued: 'queued',
  reading: 'reading',
  text: 'writing',
  thought: 'thinking',
  call: 'writing',
};

export class Live implements LiveAnswer {
  phase = $state<Phase>('reading');
  text = $state('');
  thought = $state('');
  calls = $state.raw<readonly ToolCall[]>([]);
  place = $state<number>();
  readDone = $state(0);
  readTotal = $state(0);
  rate = $state<number>();
  firstTokenMs = $state<number>();
  thoughtMs = $state<number>();
  permission = $state.raw<Permission>();
  trouble = $state.raw<Fault>();

  #waits = false;

  constructor(
    readonly messageId: Id,
    readonly convId: Id,
    phase: Phase,
    private readonly frame: Frame,
  ) {
    this.phase = phase;
  }

  hear(event: EngineEvent, written: Written): void {
    this.phase = PHASES[event.type] ?? this.phase;
    if (event.type === 'queued') this.place = event.place;
    if (event.type === 'reading') [this.readDone, this.readTotal, this.place] = [event.done, event.total, undefined];
    if (this.#waits) return;
    this.#waits = true;
    this.frame(() => {
      this.#waits = false;
      this.show(written);
    });
  }

  // At once.
  show(written: Written): void {
    this.text = written.content;
    this.thought = written.thought;
    this.calls = written.calls.map((call) => ({ ...call }));
    this.rate = written.rate;
    this.firstTokenMs = written.firstTokenMs;
    this.thoughtMs = written.thinkingMs();
  }

  lost(fault: Fault): void {
    this.trouble = fault;
    this.phase = 'lost';
  }

  // Whatever it was doing; the next event tells better.
  found(): void {
    this.trouble = undefined;
    this.phase = this.text !== '' ? 'writing' : this.thought !== '' ? 'thinking' : 'reading';
  }
}

// One that another tab writes: what that tab saves is what is shown.
export class Elsewhere implements LiveAnswer {
  readonly phase = 'elsewhere';
  readonly place = undefined;
  readonly readDone = 0;
  readonly readTotal = 0;
  readonly rate = undefined;
  readonly firstTokenMs = undefined;
  readonly permission = undefined;
  readonly trouble = undefined;

  constructor(
    readonly messageId: Id,
    readonly convId: Id,
    private readonly messages: () => ReadonlyMap<Id, Message>,
  ) {}

  get #message(): Message | undefined {
    return this.messages().get(this.messageId);
  }
  get text(): string {
    return this.#message?.content ?? '';
  }
  get thought(): string {
    return this.#message?.thought ?? '';
  }
  get calls(): readonly ToolCall[] {
    return this.#message?.toolCalls ?? [];
  }
  get thoughtMs(): number | undefined {
    return this.#message?.thoughtMs;
  }
}
