// What is stored: reads, and `commit`, the one way to write. Changes are shown at once, written in order, and told to
// other tabs. Where the browser does not take them they stay in memory (`overlay.ts`), `trouble` says why, and reads
// have them all the same.
import type { Id, Message } from '#lib/types/conversation.ts';
import type { StorageTrouble } from '#lib/types/storage.ts';
import { isQuota, openDatabase, Refusal, type Database } from './database.ts';
import { Overlay } from './overlay.ts';
import {
  foundOf,
  keptTables,
  keyOf,
  type Change,
  type Found,
  type Rows,
  type TableName,
  type Wanted,
} from './tables.ts';
import { Tabs, type News } from './tabs.ts';
import { marksOf, newStamp } from './unsent.ts';

// How long a full or failing database is left alone before what is kept in memory is tried again.
const retryMs = 30_000;
// After so long the page goes on without the database, until it opens after all.
const openMs = 10_000;
// Rows of a read of many: enough to be quick, few enough for a frame.
const sliceRows = 400;

// `reload`: changes of others may have been missed, read again.
export type Listener = (news: { changes: readonly Change[] } | { reload: true }) => void;

// Rows, and the bytes of files, whose size must not keep rows from being written.
interface Lane {
  unsaved: Overlay;
  // Ends when all writes so far did.
  tail: Promise<void>;
}
const newLane = (): Lane => ({ unsaved: new Overlay(), tail: Promise.resolve() });

export class Storage {
  #opening: Promise<void> | undefined;
  #database: Database | undefined;
  #trouble: StorageTrouble | null = null;
  #listeners = new Set<Listener>();
  #troubleListeners = new Set<(trouble: StorageTrouble | null) => void>();
  #lanes = { rows: newLane(), files: newLane() };
  #retry: ReturnType<typeof setTimeout> | undefined;
  #tabs: Tabs;
  // For each update under way: what was committed since it was asked for.
  #behind = new Set<Change[]>();
  #lastTime = 0;

  // Whether what is committed is noted as unsent to a server.
  notesUnsent: () => boolean = () => false;
  // Gives, and keeps, bytes of files that are not here.
  elsewhere: ((sha256: string) => Promise<Blob | undefined>) | undefined;

  constructor(readonly name = 'puna') {
    this.#tabs = new Tabs(
      name,
      (news) => this.#heard(news),
      () => this.#tell({ reload: true }),
    );
  }

  get trouble(): StorageTrouble | null {
    return this.#trouble;
  }

  // Gives the function that ends it; so do all that listen.
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  listenTrouble(listener: (trouble: StorageTrouble | null) => void): () => void {
    this.#troubleListeners.add(listener);
    listener(this.#trouble);
    return () => this.#troubleListeners.delete(listener);
  }

  // Never fails: without a database everything is in memory.
  open(): Promise<void> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#tabs.close();
    this.#database?.dexie.close();
  }

  async row<T extends TableName>(table: T, key: string): Promise<Rows[T] | undefined> {
    const below = await this.#read((database) => database.table(table).get(key), undefined);
    return this.#laneOf(table).unsaved.row(table, key, below as Rows[T] | undefined);
  }

  async all<T extends TableName>(table: T): Promise<Rows[T][]> {
    return this.#over(table, (await this.#read((database) => database.table(table).toArray(), [])) as Rows[T][]);
  }

  // Those that are there.
  async some<T extends TableName>(table: T, keys: readonly string[]): Promise<Rows[T][]> {
    const below = await this.#read((database) => database.table(table).bulkGet([...keys]), []);
    const { unsaved } = this.#laneOf(table);
    return keys.flatMap((key, i) => unsaved.row(table, key, below[i]) ?? []);
  }

  // In the order of writing.
  async messagesOf(convId: Id): Promise<Message[]> {
    const below = await this.#read(
      (database) =>
        database.table('messages').where('[convId+order]').between([convId, -Infinity], [convId, []]).toArray(),
      [],
    );
    const { unsaved } = this.#lanes.rows;
    const known = new Set(below.map((message) => message.id));
    const added = unsaved.added('messages', known).filter((message) => message.convId === convId);
    return [...unsaved.rows('messages', below), ...added].sort((a, b) => a.order - b.order);
  }

  // All rows of a table, some at a time: between two slices the page goes on.
  async *slices<T extends TableName>(table: T): AsyncGenerator<Rows[T][]> {
    const { unsaved } = this.#laneOf(table);
    const known = new Set<string>();
    for (let last = ''; ;) {
      const below = (await this.#read(
        (database) => database.table(table).where(':id').above(last).limit(sliceRows).toArray(),
        [],
      )) as Rows[T][];
      for (const row of below) known.add(keyOf(table, row));
      if (below.length > 0) yield unsaved.rows(table, below);
      if (below.length < sliceRows) break;
      last = keyOf(table, below.at(-1)!);
    }
    const added = unsaved.added(table, known);
    for (let at = 0; at < added.length; at += sliceRows) yield added.slice(at, at + sliceRows);
  }

  // Shown when it returns; ends when the changes are saved, or kept in memory because they cannot be. Throws at once,
  // before anything is changed, when a value is none that can be stored (a function, a proxy).
  commit(given: readonly Change[]): Promise<void> {
    const changes = structuredClone(given) as Change[];
    for (const behind of this.#behind) behind.push(...changes.filter(({ table }) => isKept(table)));
    const unsent = this.notesUnsent() ? marksOf(changes, this.#time(), newStamp()) : [];
    if (unsent.length > 0) changes.push({ table: 'unsent', put: unsent });
    const lane = changes.every((change) => change.table === 'files') ? this.#lanes.files : this.#lanes.rows;
    this.#tell({ changes });
    return this.#queue(lane, changes);
  }

  // Changes that depend on what is stored: `make` is given these rows as they are when the changes are written, and no
  // other comes between; it may be asked twice. They are shown when they are saved, or kept in memory, and not noted as
  // unsent. What was committed in the meantime is shown anew, for it is written behind them.
  update(wanted: Wanted, make: (found: Found) => readonly Change[]): Promise<void> {
    const behind: Change[] = [];
    this.#behind.add(behind);
    const lane = this.#lanes.rows;
    const done = lane.tail
      .then(() => this.#update(lane, wanted, make, behind))
      .finally(() => this.#behind.delete(behind));
    lane.tail = done.catch(() => undefined);
    return done;
  }

  // Tries again what could not be saved.
  async flush(): Promise<void> {
    await Promise.all(
      Object.values(this.#lanes).map((lane) => (lane.unsaved.empty ? lane.tail : this.#queue(lane, []))),
    );
  }

  #queue(lane: Lane, changes: readonly Change[]): Promise<void> {
    lane.tail = lane.tail.then(() => this.#write(lane, changes));
    return lane.tail;
  }

  async #open(): Promise<void> {
    let late = false;
    const opened = openDatabase(this.name, (trouble) => this.#lose(trouble)).then(
      (database) => {
        this.#database = database;
        if (!late) return;
        this.#setTrouble(null);
        this.#tell({ reload: true });
        void this.flush();
      },
      (error: unknown) => this.#lose(error instanceof Refusal ? error.trouble : 'refused'),
    );
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waited = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        late = true;
        this.#setTrouble('broken');
        resolve();
      }, openMs);
    });
    await Promise.race([opened, waited]);
    clearTimeout(timer);
  }

  #lose(trouble: StorageTrouble): void {
    this.#database = undefined;
    this.#setTrouble(trouble);
  }

  #setTrouble(trouble: StorageTrouble | null): void {
    if (this.#trouble === trouble) return;
    this.#trouble = trouble;
    for (const listener of this.#troubleListeners) listener(trouble);
  }

  #tell(news: Parameters<Listener>[0]): void {
    for (const listener of [...this.#listeners]) listener(news);
  }

  #laneOf(table: TableName): Lane {
    return table === 'files' ? this.#lanes.files : this.#lanes.rows;
  }

  #over<T extends TableName>(table: T, below: Rows[T][]): Rows[T][] {
    const { unsaved } = this.#laneOf(table);
    return [...unsaved.rows(table, below), ...unsaved.added(table, new Set(below.map((row) => keyOf(table, row))))];
  }

  async #read<T>(read: (database: Database) => PromiseLike<T>, otherwise: T): Promise<T> {
    await this.open();
    if (!this.#database) return otherwise;
    try {
      return await read(this.#database);
    } catch {
      // The next read tries again; writes do too.
      if (this.#database) this.#setTrouble('broken');
      return otherwise;
    }
  }

  async #write(lane: Lane, changes: readonly Change[]): Promise<void> {
    await this.open();
    const saved = this.#database ? await this.#tryWrite(this.#database, lane, changes) : false;
    if (!saved) lane.unsaved.add(changes);
    if (changes.length > 0 && !(saved && lane === this.#lanes.files)) this.#tabs.tell({ changes, saved });
  }

  async #update(
    lane: Lane,
    wanted: Wanted,
    make: (found: Found) => readonly Change[],
    behind: readonly Change[],
  ): Promise<void> {
    await this.open();
    const database = this.#database;
    let changes = database && (await this.#tryUpdate(database, lane, wanted, make));
    const saved = changes !== undefined;
    if (!changes) {
      const rows = new Map<TableName, Rows[TableName][]>();
      for (const [table, keys] of Object.entries(wanted) as [TableName, readonly string[] | 'all'][])
        rows.set(table, keys === 'all' ? await this.all(table) : await this.some(table, keys));
      changes = make(foundOf(rows));
      lane.unsaved.add(changes);
    }
    if (changes.length === 0) return;
    this.#tell({ changes });
    if (behind.length > 0) this.#tell({ changes: behind });
    this.#tabs.tell({ changes, saved });
  }

  async #tryUpdate(
    database: Database,
    lane: Lane,
    wanted: Wanted,
    make: (found: Found) => readonly Change[],
  ): Promise<readonly Change[] | undefined> {
    const waiting = lane.unsaved.changes();
    try {
      const made = await database.update(waiting, wanted, make);
      this.#wrote(lane, waiting);
      return made;
    } catch (error) {
      if (this.#database === database) this.#failed(error);
      return undefined;
    }
  }

  // `waiting`: what was written of what waited. Other tabs heard of it as not saved, and would write it again behind what
  // comes after it.
  #wrote(lane: Lane, waiting: readonly Change[]): void {
    lane.unsaved.settle(waiting);
    if (waiting.length > 0) this.#tabs.tell({ changes: [], saved: true, settled: waiting });
    if (this.#allSaved()) this.#setTrouble(null);
  }

  #allSaved(): boolean {
    return Object.values(this.#lanes).every(({ unsaved }) => unsaved.empty);
  }

  #failed(error: unknown): void {
    this.#setTrouble(isQuota(error) ? 'full' : 'broken');
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.flush(), retryMs);
  }

  // Of two commits the second is later, within the same millisecond too.
  #time(): number {
    this.#lastTime = Math.max(Date.now(), this.#lastTime + 1);
    return this.#lastTime;
  }

  async #tryWrite(database: Database, lane: Lane, changes: readonly Change[]): Promise<boolean> {
    // What waits since before comes first, in the same transaction: a message never without those above it.
    const waiting = lane.unsaved.changes();
    try {
      await database.write([...waiting, ...changes]);
      this.#wrote(lane, waiting);
      return true;
    } catch (error) {
      if (this.#database !== database) return false;
      this.#failed(error);
      // What makes room must not wait for room; the marks of it are small.
      const makesRoom = changes.every((change) => 'remove' in change || change.table === 'unsent');
      if (waiting.length === 0 || !makesRoom) return false;
    }
    try {
      await database.write(changes);
    } catch {
      return false;
    }
    lane.unsaved.drop(changes);
    void this.flush();
    return true;
  }

  // From another tab.
  #heard({ changes, saved, settled = [] }: News): void {
    // Without a database, what is in memory is all that this tab can read.
    if (this.#database || this.#trouble === null)
      for (const change of settled) this.#laneOf(change.table).unsaved.settle([change]);
    // There was room for all that waited here too.
    if (settled.length > 0 && this.#trouble === 'full' && this.#allSaved()) this.#setTrouble(null);
    for (const change of changes) {
      const { unsaved } = this.#laneOf(change.table);
      if (saved) unsaved.drop([change]);
      else unsaved.add([change]);
    }
    if (changes.length > 0) this.#tell({ changes });
  }
}

function isKept(table: TableName): boolean {
  return (keptTables as readonly TableName[]).includes(table);
}

export const storage = new Storage();
