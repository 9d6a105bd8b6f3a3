// Answers that are being written, of all conversations: who drives them, what of them is shown, how they end.
import type { Fault, Id, ToolCall } from '../types/conversation.ts';
import type { RunsOn } from '../types/engine.ts';

// lost: the connection is gone and is being taken up again. elsewhere: another tab drives it.
export type Phase = 'queued' | 'loading' | 'reading' | 'thinking' | 'writing' | 'tool' | 'lost' | 'elsewhere';

// once: this call. chat: every call of this tool in this conversation. always: in all.
export type Scope = 'once' | 'chat' | 'always';

export interface Permission {
  call: ToolCall;
  grant(scope: Scope): void;
  deny(): void;
}

// Reactive; text and thought change at most once a frame.
export interface LiveAnswer {
  readonly messageId: Id;
  readonly convId: Id;
  readonly phase: Phase;
  readonly text: string;
  readonly thought: string;
  readonly calls: ToolCall[];
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

export interface StartOptions {
  // The id of an answer that is to be continued: its text goes on in the same message.
  continues?: Id;
  // Another model than the conversation's.
  model?: string;
  runsOn?: RunsOn;
}

// What an answer needs of an open conversation (OpenConversation has it).
export interface Open {
  readonly conversation: import('../types/conversation.ts').Conversation;
  readonly messages: ReadonlyMap<Id, import('../types/conversation.ts').Message>;
}

class Answers {
  // Begins the answer to the message `parent`; gives the id of the new message (or of the continued one). Resolves once it stands in
  // the conversation. Errors of the answer stand in the message: status failed and error.
  async start(_open: Open, _parent: Id, _options: StartOptions = {}): Promise<Id> {
    return '';
  }
  live(_messageId: Id): LiveAnswer | undefined {
    return undefined;
  }
  // Ids of the conversations in which something is written.
  readonly busy: ReadonlySet<Id> = new Set();
  async stop(_messageId: Id): Promise<void> {}
  // All that are written in a conversation.
  async stopIn(_convId: Id): Promise<void> {}
  // Tries a lost stream again now.
  retry(_messageId: Id): void {}
  // Takes up what was being written when the page went away.
  async resumeAll(): Promise<void> {}
  // Begins to listen to the tab's coming and going and to other tabs; gives the function that ends it.
  listen(): () => void {
    return () => undefined;
  }
}

export const answers = new Answers();
