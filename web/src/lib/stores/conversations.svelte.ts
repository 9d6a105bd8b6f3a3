// The conversations and the open ones, as components show them. What changes here is saved, and what other tabs save changes here.
import type { Conversation, FileRef, Id, Message, Role } from '#lib/types/conversation.ts';
import type { RunsOn } from '#lib/types/engine.ts';
import type { StorageTrouble } from '#lib/types/storage.ts';

export type Undo = () => Promise<void>;

export interface Found {
  convId: Id;
  // None: the title was found.
  messageId?: Id;
  name: string;
  snippet: string;
  // Where in the snippet the first of the words stands: from, to (behind it).
  at: [number, number];
}

export interface Imports {
  added: Conversation[];
  // What of which file was not taken, or not as it stood there: sentences.
  problems: { file: string; why: string }[];
}

export type ExportFormat = 'llama' | 'llama-zip' | 'llama-json' | 'markdown';

// What a message needs to be added; the rest is filled in.
export type NewMessage = { parent: Id; role: Role; content: string; files?: FileRef[] } & Partial<
  Omit<Message, 'order' | 'convId'>
>;

export class OpenConversation {
  get conversation(): Conversation {
    throw new Error('not yet');
  }
  // False until its messages are read.
  get ready(): boolean {
    throw new Error('not yet');
  }
  // It was deleted, here or in another tab.
  get gone(): boolean {
    throw new Error('not yet');
  }
  // The hidden message that all others stand under.
  get root(): Id {
    throw new Error('not yet');
  }
  get messages(): ReadonlyMap<Id, Message> {
    throw new Error('not yet');
  }
  // The branch that is shown, without the root.
  get path(): readonly Message[] {
    throw new Error('not yet');
  }
  // Messages beside this one and itself, oldest first; `index` from 0.
  siblings(id: Id): { index: number; of: readonly Id[] } {
    throw new Error(`not yet ${id}`);
  }
  children(id: Id): readonly Id[] {
    throw new Error(`not yet ${id}`);
  }
  // Shows it where its parent is on the shown branch.
  async add(message: NewMessage): Promise<Message> {
    throw new Error(`not yet ${message.content}`);
  }
  // While it is being written; of one that is done only status, error, timings, streamId and offset. `status: 'writing'` opens it again.
  async change(id: Id, patch: Partial<Message>): Promise<void> {
    throw new Error(`not yet ${id} ${patch}`);
  }
  // Edit without a branch: by the reader's own hand only.
  async rewrite(id: Id, patch: Pick<Partial<Message>, 'content' | 'files' | 'thought'>): Promise<Undo> {
    throw new Error(`not yet ${id} ${patch}`);
  }
  // Shows the branch through this message to its newest leaf.
  branch(id: Id): void {
    throw new Error(`not yet ${id}`);
  }
  // Deletes the message and what follows it.
  async removeFrom(id: Id): Promise<Undo> {
    throw new Error(`not yet ${id}`);
  }
  close(): void {
    throw new Error('not yet');
  }
}

class Conversations {
  // Newest first.
  list = $state.raw<readonly Conversation[]>([]);
  ready = $state(false);
  trouble = $state<StorageTrouble | null>(null);

  get(id: Id): Conversation | undefined {
    return this.list.find((one) => one.id === id);
  }
  // One object for all who open it; each closes it. Errors: when there is no such conversation.
  async open(id: Id): Promise<OpenConversation> {
    throw new Error(`not yet ${id}`);
  }
  async create(from: { model?: string; runsOn?: RunsOn; preset?: Id; system?: string; name?: string } = {}): Promise<Conversation> {
    throw new Error(`not yet ${from}`);
  }
  async rename(id: Id, name: string): Promise<void> {
    throw new Error(`not yet ${id} ${name}`);
  }
  async pin(id: Id, on: boolean): Promise<void> {
    throw new Error(`not yet ${id} ${on}`);
  }
  async remove(ids: readonly Id[]): Promise<Undo> {
    throw new Error(`not yet ${ids}`);
  }
  async setCurrent(id: Id, leaf: Id): Promise<void> {
    throw new Error(`not yet ${id} ${leaf}`);
  }
  async update(id: Id, patch: Partial<Omit<Conversation, 'id'>>): Promise<void> {
    throw new Error(`not yet ${id} ${patch}`);
  }
  // All words, in titles and in messages; newest conversations first. Errors: the signal's reason.
  async search(words: string, signal?: AbortSignal): Promise<Found[]> {
    throw new Error(`not yet ${words} ${signal}`);
  }
  // A conversation of its own with the branch down to this message.
  async fork(convId: Id, messageId: Id): Promise<Conversation> {
    throw new Error(`not yet ${convId} ${messageId}`);
  }
  async import(files: readonly File[]): Promise<Imports> {
    throw new Error(`not yet ${files}`);
  }
  async export(ids: readonly Id[], format: ExportFormat): Promise<{ blob: Blob; name: string }> {
    throw new Error(`not yet ${ids} ${format}`);
  }
}

export const conversations = new Conversations();
