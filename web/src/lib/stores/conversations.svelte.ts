// The conversations, as the list shows them. What changes here is saved, and what other tabs save changes here.
import { newId } from '#lib/base/ids.ts';
import { merged } from '#lib/conversations/merge.ts';
import { newConversation, newMessage, newRoot } from '#lib/conversations/new.ts';
import { find, wordsOf } from '#lib/conversations/search.ts';
import { forked, treeOf } from '#lib/conversations/tree.ts';
import { fileName, readFiles, write, type ExportFormat, type Exported, type Problem } from '#lib/interchange/index.ts';
import { getFile, putHashed } from '#lib/storage/files.ts';
import { storage as theStorage, type Listener, type Storage } from '#lib/storage/storage.ts';
import { sweepFiles } from '#lib/storage/sweep.ts';
import { patched, type Change, type Patch } from '#lib/storage/tables.ts';
import type { Conversation, Id, Message } from '#lib/types/conversation.ts';
import type { RunsOn } from '#lib/types/engine.ts';
import type { StorageTrouble } from '#lib/types/storage.ts';
import { afterPaint, inPage } from './after_paint.ts';
import { Followed } from './followed.ts';
import { OpenConversation, type Undo } from './open_conversation.svelte.ts';

export { OpenConversation, type NewMessage, type Undo } from './open_conversation.svelte.ts';
export type { ExportFormat } from '#lib/interchange/index.ts';

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
  problems: Problem[];
}

// Nobody reads more of them.
const mostFound = 300;
// A search leaves the page so long alone at most.
const busyMs = 12;
// Unused files are looked for when the page has settled.
const sweepMs = 20_000;

export class Conversations {
  #byId = $state.raw<ReadonlyMap<Id, Conversation>>(new Map());
  #list = $state.raw<readonly Conversation[]>([]);
  #ready = $state(false);
  #trouble = $state<StorageTrouble | null>(null);
  #open = new Map<Id, { conversation: OpenConversation; loaded: Promise<void> }>();
  #starting: Promise<void> | undefined;
  #followed = new Followed<Change>(
    () => this.#read(),
    (changes) => this.#apply(changes),
  );

  constructor(readonly storage: Storage) {
    storage.listen((news) => this.#hear(news));
    storage.listenTrouble((trouble) => (this.#trouble = trouble));
  }

  // Newest first.
  get list(): readonly Conversation[] {
    return this.#list;
  }
  get ready(): boolean {
    return this.#ready;
  }
  get trouble(): StorageTrouble | null {
    return this.#trouble;
  }
  get(id: Id): Conversation | undefined {
    return this.#byId.get(id);
  }

  // Reads the list; all others here do so first.
  start(): Promise<void> {
    if (!this.#starting && inPage) setTimeout(() => void sweepFiles(this.storage), sweepMs);
    this.#starting ??= this.#followed.again();
    return this.#starting;
  }

  // One object for all who open it; each closes it. Errors: when there is no such conversation.
  async open(id: Id): Promise<OpenConversation> {
    await this.start();
    const conversation = this.get(id);
    let opened = this.#open.get(id);
    if (!opened) {
      if (!conversation) throw new Error(`There is no conversation "${id}".`);
      const fresh = new OpenConversation(this, conversation);
      opened = { conversation: fresh, loaded: fresh.load() };
      this.#open.set(id, opened);
    }
    opened.conversation.use();
    await opened.loaded;
    return opened.conversation;
  }

  // From an open conversation that nobody has open any more.
  closed(id: Id): void {
    this.#open.delete(id);
  }

  async create(
    from: { model?: string; runsOn?: RunsOn; preset?: Id; system?: string; name?: string } = {},
  ): Promise<Conversation> {
    await this.start();
    const { system, ...rest } = from;
    const id = newId();
    const messages = [newRoot(id)];
    if (system)
      messages.push(newMessage({ convId: id, parent: messages[0]!.id, order: 1, role: 'system', content: system }));
    const conversation = newConversation({ ...rest, id, currNode: messages.at(-1)!.id });
    await this.#add(conversation, messages);
    return conversation;
  }

  rename(id: Id, name: string): Promise<void> {
    return this.update(id, { name: name.trim() });
  }

  pin(id: Id, on: boolean): Promise<void> {
    return this.update(id, { pinned: on });
  }

  setCurrent(id: Id, leaf: Id): Promise<void> {
    return this.update(id, { currNode: leaf });
  }

  // A member that is undefined goes.
  async update(id: Id, patch: Patch<Omit<Conversation, 'id'>>): Promise<void> {
    await this.start();
    await this.storage.commit([
      { table: 'conversations', key: id, patch: $state.snapshot(patch) as Patch<Conversation> },
    ]);
  }

  async remove(ids: readonly Id[]): Promise<Undo> {
    await this.start();
    const gone = ids.flatMap((id) => this.get(id) ?? []);
    const messages: Message[] = [];
    for (const { id } of gone) for (const message of await this.#messagesOf(id)) messages.push(message);
    const drafts = await this.storage.some('drafts', ids);
    await this.storage.commit([
      { table: 'conversations', remove: gone.map(({ id }) => id) },
      { table: 'messages', remove: messages.map(({ id }) => id) },
      { table: 'drafts', remove: drafts.map(({ id }) => id) },
    ]);
    return () =>
      this.storage.commit([
        { table: 'conversations', put: gone },
        { table: 'messages', put: messages },
        { table: 'drafts', put: drafts },
      ]);
  }

  // A conversation of its own with the branch down to this message. Errors: when there is no such message.
  async fork(convId: Id, messageId: Id): Promise<Conversation> {
    const open = await this.open(convId);
    try {
      if (!open.messages.has(messageId)) throw new Error(`The message "${messageId}" is not in this conversation.`);
      const id = newId();
      const messages = forked(treeOf(open.messages.values()), messageId, id, newId);
      const from = open.conversation;
      const conversation: Conversation = {
        ...from,
        id,
        lastModified: Date.now(),
        currNode: messages.at(-1)!.id,
        pinned: false,
        forkedFrom: { convId, messageId },
      };
      delete conversation.unknown;
      delete conversation.records;
      await this.#add(conversation, messages);
      return conversation;
    } finally {
      open.close();
    }
  }

  // All words, in titles and in messages; newest conversations first, of each the title and then its messages as they
  // were written. Errors: the signal's reason.
  async search(query: string, signal?: AbortSignal): Promise<Found[]> {
    await this.start();
    const words = wordsOf(query);
    if (words.length === 0) return [];
    const found = new Map<Id, { title: Found[]; messages: { order: number; found: Found }[] }>();
    for (const { id, name } of this.list) {
      const hit = find(name, words);
      found.set(id, { title: hit ? [{ convId: id, name, ...hit }] : [], messages: [] });
    }
    let count = 0;
    let since = performance.now();
    for await (const messages of this.storage.slices('messages')) {
      for (const message of messages) {
        const { id: messageId, convId, order } = message;
        const of = found.get(convId);
        const hit = of && message.role !== 'root' ? hitIn(message, words) : undefined;
        if (!of || !hit) continue;
        of.messages.push({ order, found: { convId, messageId, name: this.get(convId)?.name ?? '', ...hit } });
        ++count;
      }
      signal?.throwIfAborted();
      // More than anybody reads, found in no order: the newest of these have to do.
      if (count >= 10 * mostFound) break;
      if (performance.now() - since > busyMs) {
        await new Promise((resolve) => setTimeout(resolve));
        since = performance.now();
      }
    }
    signal?.throwIfAborted();
    const all = [...found.values()].flatMap(({ title, messages }) => [
      ...title,
      ...messages.sort((a, b) => a.order - b.order).map((each) => each.found),
    ]);
    return all.slice(0, mostFound);
  }

  async import(files: readonly File[]): Promise<Imports> {
    await this.start();
    const { conversations, problems } = await readFiles(files);
    const added: Conversation[] = [];
    for (const { conversation, messages, files: bytes, file } of conversations) {
      const known = this.get(conversation.id);
      const here = known && { conversation: known, messages: await this.#messagesOf(known.id) };
      const same = await this.storage.some(
        'messages',
        messages.map(({ id }) => id),
      );
      const taken = new Set(same.filter(({ convId }) => convId !== conversation.id).map(({ id }) => id));
      const tree = merged({ conversation, messages }, here, taken);
      if (!tree) {
        const why = `The conversation “${conversation.name}” is here already, with all its messages.`;
        problems.push({ file, why });
        continue;
      }
      await putHashed(bytes, this.storage);
      await this.#add(tree.conversation, tree.messages);
      added.push(tree.conversation);
    }
    return { added, problems };
  }

  async export(ids: readonly Id[], format: ExportFormat): Promise<{ blob: Blob; name: string }> {
    await this.start();
    const chosen: Exported[] = [];
    for (const conversation of ids.flatMap((id) => this.get(id) ?? [])) {
      chosen.push({ conversation, messages: await this.#messagesOf(conversation.id) });
    }
    const blob = await write(chosen, format, (sha256) => getFile(sha256, this.storage));
    return { blob, name: fileName(chosen, format) };
  }

  async #add(conversation: Conversation, messages: readonly Message[]): Promise<void> {
    await this.storage.commit([
      { table: 'conversations', put: [conversation] },
      { table: 'messages', put: messages },
    ]);
  }

  async #messagesOf(id: Id): Promise<readonly Message[]> {
    const open = this.#open.get(id);
    await open?.loaded;
    return open ? [...open.conversation.messages.values()] : this.storage.messagesOf(id);
  }

  async #read(): Promise<void> {
    const stored = await this.storage.all('conversations');
    this.#show(new Map(stored.map((conversation) => [conversation.id, conversation])));
    this.#ready = true;
  }

  #hear(news: Parameters<Listener>[0]): void {
    if ('changes' in news) {
      this.#followed.hear(news.changes);
    } else if (this.#starting) {
      this.#starting = this.#followed.again();
      for (const each of this.#open.values()) each.loaded = each.conversation.load();
    }
  }

  #apply(changes: readonly Change[]): void {
    const next = new Map(this.#byId);
    let isOther = false;
    for (const change of changes) {
      if (change.table === 'messages') {
        for (const { conversation } of this.#open.values()) conversation.apply(change);
      } else if (change.table === 'conversations') {
        isOther = true;
        if ('put' in change) for (const conversation of change.put) next.set(conversation.id, conversation);
        else if ('remove' in change) for (const id of change.remove) next.delete(id);
        else if (next.has(change.key)) next.set(change.key, patched(next.get(change.key)!, change.patch));
      }
    }
    if (isOther) this.#show(next);
  }

  #show(byId: ReadonlyMap<Id, Conversation>): void {
    this.#byId = byId;
    this.#list = [...byId.values()].sort((a, b) => b.lastModified - a.lastModified || (a.id < b.id ? -1 : 1));
  }
}

function hitIn(message: Message, words: readonly string[]): Pick<Found, 'snippet' | 'at'> | undefined {
  for (const text of [message.content, ...message.files.map((file) => file.name)]) {
    const hit = find(text, words);
    if (hit) return hit;
  }
  return undefined;
}

export const conversations = new Conversations(theStorage);
afterPaint(() => void conversations.start());
