// What the writing of answers needs of the rest of the page.
import type { Conversation, FileRef, Id, Message, ToolCall } from '../../types/conversation.ts';
import type { AnswerRequest, Engine, ModelState, RunsOn, ToolSpec } from '../../types/engine.ts';
import type { Leases } from '../../services/lease.ts';
import type { Patch } from '../../storage/tables.ts';
import type { NewMessage } from '../open_conversation.svelte.ts';
import type { AnswerChannel } from './channel.ts';
import type { Frame } from './live.svelte.ts';
import type { AllowedTools } from './permissions.ts';
import type { GetFile } from './prompt.ts';

// An open conversation, as far as answers need one; OpenConversation is one.
export interface Open {
  readonly conversation: Conversation;
  readonly gone: boolean;
  readonly messages: ReadonlyMap<Id, Message>;
  children(id: Id): readonly Id[];
  // From the first message down to this one.
  pathTo(id: Id): readonly Message[];
  add(message: NewMessage): Promise<Message>;
  change(id: Id, patch: Patch<Message>): Promise<void>;
  close(): void;
}

export interface Choice {
  model: string;
  runsOn: RunsOn;
}

// With whom, and with what, a conversation is answered.
export interface Setup extends Pick<AnswerRequest, 'parameters'> {
  // Undefined: no model is chosen.
  choice: Choice | undefined;
  state: ModelState;
  tools: ToolSpec[];
  // Stands before the messages where these have no system message of their own.
  system: string;
  // Why the model cannot be given these files, in one sentence.
  refuses(files: readonly FileRef[]): string | undefined;
}

export interface Deps {
  open(convId: Id): Promise<Open>;
  // Messages that are being written, as far as is saved.
  writing(): Promise<{ convId: Id; messageId: Id }[]>;
  // A message as it is saved.
  stored(messageId: Id): Promise<Message | undefined>;
  // `other`: in place of the conversation's own.
  setup(conversation: Conversation, other: Partial<Choice>): Setup;
  engine(runsOn: RunsOn): Engine;
  runTool(call: ToolCall, signal: AbortSignal): Promise<string>;
  measured(choice: Choice, tokensPerSecond: number): void;
  getFile: GetFile;
  allowed: AllowedTools;
  leases: Leases;
  channel: AnswerChannel;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  frame: Frame;
  newId(): Id;
}
