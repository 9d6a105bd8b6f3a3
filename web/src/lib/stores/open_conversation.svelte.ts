// One conversation with its messages, as its page shows it.
import { newMessage } from '#lib/conversations/new.ts';
import { repair } from '#lib/conversations/repair.ts';
import { titleOf } from '#lib/conversations/title.ts';
import * as tree from '#lib/conversations/tree.ts';
import type { Storage } from '#lib/storage/storage.ts';
import { patched, type Change, type ChangeOf, type Patch } from '#lib/storage/tables.ts';
import type { Conversation, Id, Message } from '#lib/types/conversation.ts';
import { Followed } from './followed.ts';

export type Undo = () => Promise<void>;

// What a message needs to be added; the rest is filled in.
export type NewMessage = Partial<Message> & Pick<Message, 'parent' | 'role' | 'content'>;

// Of a message that is done.
const alwaysChangeable: ReadonlySet<string> = new Set<keyof Message>([
  'status',
  'error',
  'timings',
  'thoughtMs',
  'streamId',
  'offset',
] satisfies (keyof Message)[]);

// What it needs of the list.
export interface Owner {
  readonly storage: Storage;
  get(id: Id): Conversation | undefined;
  closed(id: Id): void;
}

export class OpenConversation {
  #owner: Owner;
  #last: Conversation;
  #tree = $state.raw<tree.Tree>()!;
  #followed = new Followed<ChangeOf<'messages'>>(
    () => this.#read(),
    (changes) => changes.forEach((change) => this.#apply(change)),
  );
  #users = 0;

  // Apart, so that the branch is the same array until it changes.
  #leaf: Id = $derived(tree.leafOr(this.#tree, this.conversation.currNode));
  // The branch that is shown, without the root.
  readonly path: readonly Message[] = $derived(tree.pathTo(this.#tree, this.#leaf));

  // For the list alone: `conversations.open` gives it when it is read.
  constructor(owner: Owner, conversation: Conversation) {
    this.#owner = owner;
    this.#last = conversation;
    // Until then, a root that stands for that of the database.
    this.#tree = tree.treeOf([newMessage({ convId: conversation.id, parent: null, order: 0, role: 'root' })]);
  }

  get id(): Id {
    return this.#last.id;
  }
  get conversation(): Conversation {
    const now = this.#owner.get(this.id);
    if (now) this.#last = now;
    return this.#last;
  }
  // It was deleted, here or in another tab.
  get gone(): boolean {
    return this.#owner.get(this.id) === undefined;
  }
  // The hidden message that all others stand under.
  get root(): Id {
    return this.#tree.root;
  }
  get messages(): ReadonlyMap<Id, Message> {
    return this.#tree.messages;
  }
  // Messages beside this one and itself, oldest first; `index` from 0.
  siblings(id: Id): { index: number; of: readonly Id[] } {
    return tree.siblingsOf(this.#tree, id);
  }
  children(id: Id): readonly Id[] {
    return tree.childrenOf(this.#tree, id);
  }
  // The branch down to this message, without the root.
  pathTo(id: Id): readonly Message[] {
    return tree.pathTo(this.#tree, id);
  }

  // Shows it where its parent is on the shown branch. Errors: when its parent is not here.
  async add(from: NewMessage): Promise<Message> {
    const { parent } = from;
    if (parent === null || !this.messages.has(parent))
      throw new Error(`The message "${parent}" is not in this conversation.`);
    const message = newMessage({ ...$state.snapshot(from), convId: this.id, order: this.#tree.top + 1 } as Message);
    const shown = parent === this.root || this.path.some(({ id }) => id === parent);
    const { name, lastModified } = this.conversation;
    const patch: Patch<Conversation> = { lastModified: Math.max(lastModified, message.timestamp) };
    if (shown) patch.currNode = message.id;
    if (name === '' && message.role === 'user') patch.name = titleOf(message.content) || (message.files[0]?.name ?? '');
    await this.#commit([{ table: 'messages', put: [message] }], patch);
    return message;
  }

  // While it is being written; of one that is done only its state. `status: 'writing'` opens it again. Of one that was
  // deleted: nothing.
  async change(id: Id, patch: Patch<Message>): Promise<void> {
    const message = this.messages.get(id);
    if (!message) return;
    const isOpen = message.status === 'writing' || patch.status === 'writing';
    const fixed = Object.keys(patch).find((key) => !alwaysChangeable.has(key));
    if (!isOpen && fixed) throw new Error(`The message "${id}" is done: its ${fixed} does not change.`);
    await this.#rewrite(id, patch);
  }

  // An edit without a branch: by the reader's own hand only.
  async rewrite(id: Id, patch: Pick<Patch<Message>, 'content' | 'files' | 'thought'>): Promise<Undo> {
    const message = this.messages.get(id);
    if (!message) return async () => {};
    const before = Object.fromEntries(
      Object.keys(patch).map((key) => [key, message[key as keyof Message]]),
    ) as Patch<Message>;
    await this.#rewrite(id, patch);
    return () => this.#rewrite(id, before);
  }

  // Shows the branch through this message to its newest leaf.
  branch(id: Id): void {
    void this.#commit([], { currNode: tree.newestLeaf(this.#tree, id) });
  }

  // Deletes the message and what follows it.
  async removeFrom(id: Id): Promise<Undo> {
    const gone = tree.branchesFrom(this.#tree, id);
    if (gone.length === 0 || id === this.root) return async () => {};
    const { currNode } = this.conversation;
    const isShown = gone.some((message) => message.id === currNode);
    const remove: Change = { table: 'messages', remove: gone.map((message) => message.id) };
    await this.#commit([remove], isShown ? { currNode: tree.leafWithout(this.#tree, id) } : undefined);
    return () => this.#commit([{ table: 'messages', put: gone }], isShown ? { currNode } : undefined);
  }

  // Once for each `conversations.open`.
  close(): void {
    if (--this.#users === 0) this.#owner.closed(this.id);
  }

  // From here on for the list.
  use(): void {
    ++this.#users;
  }

  load(): Promise<void> {
    return this.#followed.again();
  }

  apply(change: ChangeOf<'messages'>): void {
    this.#followed.hear([change]);
  }

  async #read(): Promise<void> {
    const stored = await this.#owner.storage.messagesOf(this.id);
    const { messages, changed } = repair(this.id, stored);
    this.#tree = tree.treeOf(messages);
    if (changed.length > 0 && !this.gone) await this.#commit([{ table: 'messages', put: changed }]);
  }

  #apply(change: ChangeOf<'messages'>): void {
    if ('put' in change) {
      const own = change.put.filter((message) => message.convId === this.id);
      if (own.length > 0) this.#tree = tree.withMessages(this.#tree, own);
    } else if ('remove' in change) {
      const own = change.remove.filter((id) => id !== this.root && this.messages.has(id));
      if (own.length > 0) this.#tree = tree.withoutMessages(this.#tree, own);
    } else {
      const known = this.messages.get(change.key);
      if (known) this.#tree = tree.withMessages(this.#tree, [patched(known, change.patch)]);
    }
  }

  #rewrite(id: Id, patch: Patch<Message>): Promise<void> {
    return this.#commit([{ table: 'messages', key: id, patch: $state.snapshot(patch) as Patch<Message> }]);
  }

  #commit(changes: Change[], patch?: Patch<Conversation>): Promise<void> {
    if (patch) changes.push({ table: 'conversations', key: this.id, patch });
    return this.#owner.storage.commit(changes);
  }
}
