// What is typed and not sent, of every chat and every open edit. It is saved soon after it is typed; what the last
// moments of a page leave unsaved is put into local storage, which alone is written at once, and taken up at the next
// start.
import { dictOf, isDict, listOf, numberOf, textOf } from '#lib/base/values.ts';
import { storage as theStorage, type Listener, type Storage } from '#lib/storage/storage.ts';
import type { Draft, FileRef } from '#lib/types/conversation.ts';
import { getLocal, parsed, putLocal } from './local.ts';

const saveMs = 300;
const journal = 'puna.drafts';

// What components watch. One for all drafts: an effect does not watch state that is made while it runs, and the first
// to ask for a draft, which makes it, often is one.
class Pulse {
  #shown = $state(0);
  #beats = 0;

  watch(): void {
    void this.#shown;
  }
  beat(): void {
    this.#shown = ++this.#beats;
  }
}

export class OpenDraft {
  #text = '';
  #files: readonly FileRef[] = [];
  #ready = false;
  // What is shown is newer than what is saved. Undefined: it is not.
  #since: number | undefined;
  #lastModified = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly id: string,
    private readonly storage: Storage,
    private readonly pulse: Pulse,
  ) {
    void this.#read();
  }

  get text(): string {
    this.pulse.watch();
    return this.#text;
  }
  set text(value: string) {
    if (value === this.#text) return;
    this.#text = value;
    this.#changed();
  }

  // Put a new array here: a push is not seen.
  get files(): readonly FileRef[] {
    this.pulse.watch();
    return this.#files;
  }
  set files(value: readonly FileRef[]) {
    this.#files = $state.snapshot(value) as readonly FileRef[];
    this.#changed();
  }

  // False until what was saved is read; typing before that is kept.
  get ready(): boolean {
    this.pulse.watch();
    return this.#ready;
  }

  // As it is to be saved; undefined when it is.
  get unsaved(): Draft | undefined {
    return this.#since === undefined ? undefined : this.now;
  }
  get now(): Draft {
    return { id: this.id, text: this.#text, files: [...this.#files], lastModified: this.#since ?? this.#lastModified };
  }

  clear(): void {
    this.#text = '';
    this.#files = [];
    this.#changed();
    void this.save();
  }

  // What was sent goes; what was typed and attached in the meantime stays.
  sent(text: string, files: readonly FileRef[]): void {
    this.#text = typedSince(text, this.#text);
    this.#files = this.#files.filter((file) => !files.some(({ sha256 }) => sha256 === file.sha256));
    this.#changed();
    void this.save();
  }

  async save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const draft = this.unsaved;
    if (!draft) return;
    this.#lastModified = draft.lastModified;
    const isEmpty = draft.text === '' && draft.files.length === 0;
    await this.storage.commit([isEmpty ? { table: 'drafts', remove: [this.id] } : { table: 'drafts', put: [draft] }]);
    if (this.#since === draft.lastModified) this.#since = undefined;
  }

  // From another tab. What is typed here stays.
  take(draft: Draft | undefined): void {
    if (this.#since !== undefined || (draft && draft.lastModified < this.#lastModified)) return;
    this.#lastModified = draft?.lastModified ?? this.#lastModified;
    this.#text = draft?.text ?? '';
    this.#files = draft?.files ?? [];
    this.pulse.beat();
  }

  async #read(): Promise<void> {
    const saved = await this.storage.row('drafts', this.id);
    if (saved) this.take(saved);
    this.#ready = true;
    this.pulse.beat();
  }

  #changed(): void {
    // Later than before, though the clock may stand still.
    this.#since = Math.max(Date.now(), this.#lastModified + 1, (this.#since ?? 0) + 1);
    this.#timer ??= setTimeout(() => void this.save(), saveMs);
    this.pulse.beat();
  }
}

export class Drafts {
  #pulse = new Pulse();
  #open = new Map<string, OpenDraft>();
  #recovered: Promise<void> | undefined;

  constructor(private readonly storage: Storage) {
    storage.listen((news) => this.#hear(news));
    const page = globalThis as Partial<Pick<Window, 'addEventListener' | 'document'>>;
    page.addEventListener?.('pagehide', () => void this.leave());
    page.document?.addEventListener(
      'visibilitychange',
      () => page.document!.visibilityState === 'hidden' && void this.save(),
    );
  }

  // `id`: of the conversation, `new`, or `edit:<messageId>`. The same object for all who ask.
  of(id: string): OpenDraft {
    this.#recovered ??= this.#recover();
    let draft = this.#open.get(id);
    if (!draft) this.#open.set(id, (draft = new OpenDraft(id, this.storage, this.#pulse)));
    return draft;
  }

  clear(id: string): void {
    this.of(id).clear();
  }

  async save(): Promise<void> {
    await Promise.all([...this.#open.values()].map((draft) => draft.save()));
  }

  // The page may be gone in a moment. Where the database takes nothing, this is all that is left of the drafts.
  async leave(): Promise<void> {
    const open = [...this.#open.values()];
    const left =
      this.storage.trouble === null ? open.flatMap((draft) => draft.unsaved ?? []) : open.map((draft) => draft.now);
    if (left.length === 0) return;
    const ids = new Set(left.map(({ id }) => id));
    const others = readJournal().filter((draft) => !ids.has(draft.id));
    writeJournal([...others, ...left]);
    await this.save();
    // Still here, and saved: what is written there would be taken for newer than what comes after it.
    if (this.storage.trouble === null) writeJournal(readJournal().filter((draft) => !ids.has(draft.id)));
  }

  async #recover(): Promise<void> {
    const left = readJournal();
    if (left.length === 0) return;
    const saved = new Map(
      (
        await this.storage.some(
          'drafts',
          left.map(({ id }) => id),
        )
      ).map((draft) => [draft.id, draft]),
    );
    const newer = left.filter((draft) => draft.lastModified > (saved.get(draft.id)?.lastModified ?? 0));
    const put = newer.filter((draft) => draft.text !== '' || draft.files.length > 0);
    const remove = newer.filter((draft) => !put.includes(draft)).map(({ id }) => id);
    await this.storage.commit([
      { table: 'drafts', put },
      { table: 'drafts', remove },
    ]);
    if (this.storage.trouble === null) writeJournal([]);
  }

  #hear(news: Parameters<Listener>[0]): void {
    if ('reload' in news) {
      for (const [id, draft] of this.#open) void this.storage.row('drafts', id).then((row) => draft.take(row));
      return;
    }
    for (const change of news.changes) {
      if (change.table !== 'drafts') continue;
      if ('put' in change) for (const draft of change.put) this.#open.get(draft.id)?.take(draft);
      else if ('remove' in change) for (const id of change.remove) this.#open.get(id)?.take(undefined);
    }
  }
}

// Of `now`, what is typed between the beginning and the end that it has in common with `before`; nothing where it is no
// longer all of `before` that stands around it.
function typedSince(before: string, now: string): string {
  let head = 0;
  while (head < before.length && now[head] === before[head]) ++head;
  const tail = before.length - head;
  return now.length > before.length && now.endsWith(before.slice(head)) ? now.slice(head, now.length - tail) : '';
}

function readJournal(): Draft[] {
  return listOf(parsed(getLocal(journal))).flatMap((each) => {
    const { id, text, files, lastModified } = dictOf(each);
    if (textOf(id) === undefined || textOf(text) === undefined || numberOf(lastModified) === undefined) return [];
    const own = listOf(files).filter((file) => isDict(file) && typeof file.sha256 === 'string');
    return [{ id, text, files: own, lastModified } as Draft];
  });
}

function writeJournal(drafts: Draft[]): void {
  putLocal(journal, drafts.length > 0 ? JSON.stringify(drafts) : undefined);
}

export const drafts = new Drafts(theStorage);
