// A server's part in memory, for tests: the rule of merging as plainly as it can be said (src/web_store/row.h is the
// real one).
import type { Dict } from '#lib/base/values.ts';
import { sha256OfBlob } from '#lib/base/sha256.ts';
import { WebStoreError, type WebChange, type WebRow, type WebRows, type WebStore } from '#lib/types/web_store.ts';

interface Kept {
  table: string;
  id: string;
  revision: number;
  value: Dict;
  times: Record<string, number>;
  whole: number;
  removed: number;
}
const isRemoved = (row: Kept) => row.removed >= 0 && row.removed >= row.whole;

export class ModelServer implements WebStore {
  store = 'first';
  // Rows of one answer.
  most = 1000;
  files = new Map<string, Blob>();
  // What is asked, in order; each may be made to fail before it is done, or behind.
  asked: string[] = [];
  before: (what: string, changes?: readonly WebChange[]) => void | Promise<void> = () => {};
  behind: (what: string) => void | Promise<void> = () => {};
  #rows = new Map<string, Kept>();
  #revision = 0;

  // Another file, or another key's share.
  another(store: string): void {
    this.store = store;
    this.#rows.clear();
    this.#revision = 0;
    this.files.clear();
  }

  // Those that are there.
  values(table: string): Map<string, Dict> {
    const there = [...this.#rows.values()].filter((row) => row.table === table && !isRemoved(row));
    return new Map(there.map(({ id, value }) => [id, value]));
  }

  rows(after: number): Promise<WebRows> {
    return this.#do('rows', () => {
      const all = [...this.#rows.values()]
        .filter(({ revision }) => revision > after)
        .sort((a, b) => a.revision - b.revision);
      const some = all.slice(0, this.most);
      const changes = some.map((row): WebRow => {
        const { table, id, value, times, removed } = row;
        return structuredClone(isRemoved(row) ? { table, id, removed } : { table, id, value, times });
      });
      return {
        store: this.store,
        revision: some.at(-1)?.revision ?? this.#revision,
        more: some.length < all.length,
        changes,
      };
    });
  }

  change(changes: readonly WebChange[]): Promise<void> {
    const given = JSON.parse(JSON.stringify(changes)) as WebChange[];
    return this.#do(
      'change',
      () => {
        const now = Date.now();
        for (const change of given.filter(({ table }) => table === 'conversations')) this.#take(change, now);
        for (const change of given.filter(({ table }) => table !== 'conversations')) this.#take(change, now);
      },
      changes,
    );
  }

  hasFile(sha256: string): Promise<boolean> {
    return this.#do('hasFile', () => this.files.has(sha256));
  }
  file(sha256: string): Promise<Blob | undefined> {
    return this.#do('file', () => this.files.get(sha256));
  }
  keepFile(bytes: Blob): Promise<void> {
    return this.#do('keepFile', async () => void this.files.set(await sha256OfBlob(bytes), new Blob([bytes])));
  }

  async #do<T>(what: string, act: () => T | Promise<T>, changes?: readonly WebChange[]): Promise<T> {
    this.asked.push(what);
    await this.before(what, changes);
    const done = await act();
    await this.behind(what);
    return done;
  }

  #take(change: WebChange, now: number): void {
    const time = Math.min(change.time, now);
    const row = this.#row(change.table, change.id);
    if (change.removed) this.#remove(row, time);
    else {
      if (change.whole) row.whole = Math.max(row.whole, time);
      if (!isRemoved(row)) {
        const members: [string, unknown][] = Object.entries(change.value ?? {});
        for (const gone of change.without ?? []) members.push([gone, undefined]);
        for (const [member, value] of members) {
          if ((row.times[member] ?? -1) > time) continue;
          row.times[member] = time;
          if (value === undefined) delete row.value[member];
          else row.value[member] = value;
        }
      }
      const owner = change.table === 'messages' && this.#rows.get(`conversations/${String(row.value['convId'])}`);
      if (owner && isRemoved(owner)) this.#remove(row, Math.max(owner.removed, row.whole));
    }
    row.revision = ++this.#revision;
    if (change.table !== 'conversations' || !isRemoved(row)) return;
    for (const message of this.#rows.values()) {
      if (message.table !== 'messages' || isRemoved(message) || message.value['convId'] !== change.id) continue;
      this.#remove(message, Math.max(row.removed, message.whole));
      message.revision = ++this.#revision;
    }
  }

  #row(table: string, id: string): Kept {
    const key = `${table}/${id}`;
    const row = this.#rows.get(key) ?? { table, id, revision: 0, value: {}, times: {}, whole: -1, removed: -1 };
    this.#rows.set(key, row);
    return row;
  }

  #remove(row: Kept, time: number): void {
    row.removed = Math.max(row.removed, time);
    if (isRemoved(row)) [row.value, row.times] = [{}, {}];
  }
}

export const away = () => new WebStoreError('away', 'The server does not answer.');
