// Keeps what is stored here and what a server keeps the same, a round at a time: what was changed here is told, what
// others changed is taken. Nothing of it is lost where a round breaks off: marks go when the server has what they are
// of, and the revision up to which rows were taken is written with the rows.
import { dictOf, listOf } from '#lib/base/values.ts';
import type { Storage } from '#lib/storage/storage.ts';
import { keptTables, unsentKey, type Change, type KeptTable, type Rows, type Unsent } from '#lib/storage/tables.ts';
import { newStamp } from '#lib/storage/unsent.ts';
import { WebStoreError, type WebRow, type WebStore } from '#lib/types/web_store.ts';
import { taken, wantedFor } from './incoming.ts';
import { outgoing, type Part } from './outgoing.ts';

// Of `values`: up to which revision of which store its rows are here.
const place = 'webStore';
// Of one request, unless one change is larger: well below what servers take.
const requestCharacters = 1 << 20;

interface Known {
  store: string;
  revision: number;
  // Conversations whose removal was told since: what the server makes of it is in what it gives next.
  removals: readonly string[];
}

export interface Outcome {
  // Rows that the server has not been told of: their conversations are being written or were refused.
  waits: number;
  // What the server said of those that it does not take.
  refused: WebStoreError | undefined;
}

export class Sync {
  // Units (outgoing.ts) that this store does not take, for as long as the page is open.
  readonly #refused = new Map<string, WebStoreError>();
  #store: string | undefined;
  // Files that it was seen to have in this round.
  readonly #files = new Set<string>();

  // `isOn`: whether the reader still wants it, asked between requests.
  constructor(
    private readonly storage: Storage,
    private readonly server: WebStore,
    private readonly isOn: () => boolean,
  ) {}

  // Until both have the same. Errors: WebStoreError; what was done by then stays done.
  async round(): Promise<Outcome> {
    this.#files.clear();
    for (let isFirst = true; this.isOn(); isFirst = false) {
      const known = await this.#known();
      if (this.#store !== known?.store) this.#refused.clear();
      this.#store = known?.store;
      const hasSent = known !== undefined && (await this.#push());
      if (!isFirst && !hasSent) break;
      await this.#pull();
    }
    return { waits: await this.waits(), refused: [...this.#refused.values()][0] };
  }

  // Rows of which there are marks.
  async waits(): Promise<number> {
    const marks = await this.storage.all('unsent');
    return new Set(marks.map(({ table, id }) => unsentKey(table, id))).size;
  }

  // What the server has refused is sent again.
  retry(): void {
    this.#refused.clear();
  }

  async #known(): Promise<Known | undefined> {
    return knownOf((await this.storage.row('values', place))?.value);
  }

  async #pull(): Promise<void> {
    const known = await this.#known();
    let page = await this.#rows(known?.revision ?? 0);
    const isOther = known === undefined || page.store !== known.store;
    if (known && (isOther || (await this.#lacks(page.rows, known.removals)))) page = await this.#rows(0);
    const { store, revision, rows } = page;
    if (!this.isOn() || (!isOther && rows.length === 0)) return;
    if (isOther) await this.#markAll();
    await this.storage.update(wantedFor(rows), (found) => {
      const { changes, leftOut } = taken(rows, found);
      const before = isOther ? { store, revision: 0, removals: [] } : known;
      const value: Known = leftOut ? before : { store, revision, removals: [] };
      return [...changes, { table: 'values', put: [{ key: place, value }] }];
    });
  }

  // All of them: a message must not come before its conversation, nor a conversation without its messages.
  async #rows(after: number): Promise<{ store: string; revision: number; rows: WebRow[] }> {
    const rows: WebRow[] = [];
    let page = await this.server.rows(after);
    const { store } = page;
    for (;;) {
      rows.push(...page.changes);
      if (!page.more) return { store, revision: page.revision, rows };
      page = await this.server.rows(page.revision);
      if (page.store !== store) throw new WebStoreError('failed', 'The server changed what it keeps conversations in.');
    }
  }

  // Whether a conversation comes back of whose messages some were given long ago: it was removed here, which did not
  // hold.
  async #lacks(rows: readonly WebRow[], removals: readonly string[]): Promise<boolean> {
    const ids = rows.flatMap((row) => (row.table === 'conversations' && 'value' in row ? row.id : []));
    const here = new Set((await this.storage.some('conversations', ids)).map(({ id }) => id));
    const roots = new Set(
      rows.flatMap((row) =>
        row.table === 'messages' && 'value' in row && row.value['parent'] === null ? row.value['convId'] : [],
      ),
    );
    return ids.some((id) => !here.has(id) && (removals.includes(id) || !roots.has(id)));
  }

  // Everything that is here, as of when it was last changed as far as it says so.
  async #markAll(): Promise<void> {
    for (const table of keptTables) {
      for await (const rows of this.storage.slices(table)) {
        const marks = rows.map((row) => markOf(table, row));
        const keys = marks.map(({ key }) => key);
        await this.storage.update({ unsent: keys }, (found) => {
          const put = marks.filter(({ key }) => !found('unsent').has(key));
          return put.length > 0 ? [{ table: 'unsent', put }] : [];
        });
      }
    }
  }

  // Whether anything was sent.
  async #push(): Promise<boolean> {
    const marks = await this.storage.all('unsent');
    if (marks.length === 0) return false;
    const of = async <T extends KeptTable>(table: T): Promise<ReadonlyMap<string, Rows[T]>> => {
      const ids = new Set(marks.flatMap((mark) => (mark.table === table ? mark.id : [])));
      const rows = await this.storage.some(table, [...ids]);
      return new Map(rows.map((row) => [row.id, row]));
    };
    const rows = {
      conversations: await of('conversations'),
      messages: await of('messages'),
      presets: await of('presets'),
    };
    const { parts, settled } = outgoing(marks, rows);
    await this.#settle(settled);
    let hasSent = false;
    for (const some of requests(parts)) hasSent = (await this.#send(some)) || hasSent;
    return hasSent;
  }

  // What the server does not take is found by halves, and left with what goes with it.
  async #send(parts: readonly Part[]): Promise<boolean> {
    const some = parts.filter(({ unit }) => !this.#refused.has(unit));
    if (some.length === 0 || !this.isOn()) return false;
    try {
      for (const sha256 of new Set(some.flatMap(({ files }) => files))) await this.#sendFile(sha256);
      await this.server.change(some.flatMap(({ changes }) => changes));
    } catch (error) {
      if (!(error instanceof WebStoreError) || !(error.trouble === 'large' || error.trouble === 'refused')) throw error;
      if (some.length === 1) {
        this.#refused.set(some[0]!.unit, error);
        return false;
      }
      const half = some.length >> 1;
      const first = await this.#send(some.slice(0, half));
      return (await this.#send(some.slice(half))) || first;
    }
    await this.#settle(some.flatMap(({ marks }) => marks));
    return true;
  }

  async #sendFile(sha256: string): Promise<void> {
    if (this.#files.has(sha256)) return;
    const bytes = (await this.storage.row('files', sha256))?.bytes;
    // What is not here came from there, or is lost.
    if (bytes && !(await this.server.hasFile(sha256))) await this.server.keepFile(bytes);
    this.#files.add(sha256);
  }

  // But for those that were renewed since.
  async #settle(marks: readonly Unsent[]): Promise<void> {
    if (marks.length === 0) return;
    await this.storage.update({ unsent: marks.map(({ key }) => key), values: [place] }, (found) => {
      const same = marks.filter(({ key, stamp }) => found('unsent').get(key)?.stamp === stamp);
      const removed = marks.flatMap((mark) => (mark.removed && mark.table === 'conversations' ? mark.id : []));
      const known = knownOf(found('values').get(place)?.value);
      const changes: Change[] = [{ table: 'unsent', remove: same.map(({ key }) => key) }];
      if (known && removed.length > 0) {
        const value: Known = { ...known, removals: [...known.removals, ...removed] };
        changes.push({ table: 'values', put: [{ key: place, value }] });
      }
      return changes;
    });
  }
}

function knownOf(value: unknown): Known | undefined {
  const { store, revision, removals } = dictOf(value);
  if (typeof store !== 'string' || typeof revision !== 'number') return undefined;
  return { store, revision, removals: listOf(removals).filter((id) => typeof id === 'string') };
}

function markOf(table: KeptTable, row: Rows[KeptTable]): Unsent {
  const time = 'lastModified' in row ? row.lastModified : row.timestamp;
  return { key: unsentKey(table, row.id), table, id: row.id, time: Math.max(0, Math.round(time)), stamp: newStamp() };
}

function* requests(parts: readonly Part[]): Generator<Part[]> {
  let some: Part[] = [];
  let characters = 0;
  for (const part of parts) {
    const own = JSON.stringify(part.changes).length;
    if (some.length > 0 && characters + own > requestCharacters) {
      yield some;
      [some, characters] = [[], 0];
    }
    some.push(part);
    characters += own;
  }
  if (some.length > 0) yield some;
}
