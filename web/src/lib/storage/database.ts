// The database of the page in IndexedDB. Dexie is fetched when it is opened, which is after the first paint.
import type { Dexie, Table } from 'dexie';
import type { StorageTrouble } from '#lib/types/storage.ts';
import {
  foundOf,
  patched,
  schema,
  tableNames,
  type Change,
  type Found,
  type Rows,
  type TableName,
  type Wanted,
} from './tables.ts';

const version = 2;
// Dexie multiplies its versions by ten.
const nativeVersion = version * 10;

export class Refusal extends Error {
  constructor(
    readonly trouble: StorageTrouble,
    cause?: unknown,
  ) {
    super(`The database cannot be used: ${trouble}.`, { cause });
    this.name = 'Refusal';
  }
}

export class Database {
  constructor(
    readonly dexie: Dexie,
    // Calls this when a newer version of the page wants the database, or the browser takes it away.
    lost: (trouble: StorageTrouble) => void,
  ) {
    dexie.on('versionchange', (event) => {
      // Deleted: Dexie makes it anew.
      if (event.newVersion === null) return;
      dexie.close();
      lost('newer');
      return false;
    });
  }

  table<T extends TableName>(name: T): Table<Rows[T], string> {
    return this.dexie.table(name);
  }

  // The only place that writes. All of them or none.
  async write(changes: readonly Change[]): Promise<void> {
    const tables = new Set(changes.map((change) => change.table));
    // A conversation that goes takes its messages; messages are only written where theirs is there.
    if (tables.has('conversations')) tables.add('messages');
    if (tables.has('messages')) tables.add('conversations');
    await this.dexie.transaction('rw', [...tables], async () => {
      for (const change of changes) await this.#write(change);
    });
  }

  // Changes that depend on what is there, in one transaction: `before` is written, these rows are read, and what `make`
  // has to say of them is written and given.
  async update(
    before: readonly Change[],
    wanted: Wanted,
    make: (found: Found) => readonly Change[],
  ): Promise<readonly Change[]> {
    const tables = tableNames.filter((table) => table !== 'files');
    return await this.dexie.transaction('rw', tables, async () => {
      for (const change of before) await this.#write(change);
      const rows = new Map<TableName, Rows[TableName][]>();
      for (const [table, keys] of Object.entries(wanted) as [TableName, readonly string[] | 'all'][]) {
        const read: Table<Rows[TableName], string> = this.dexie.table(table);
        const found = keys === 'all' ? await read.toArray() : await read.bulkGet([...keys]);
        rows.set(
          table,
          found.filter((row) => row !== undefined),
        );
      }
      const made = make(foundOf(rows));
      for (const change of made) await this.#write(change);
      return made;
    });
  }

  async #write(change: Change): Promise<void> {
    const messages = this.table('messages');
    if ('remove' in change) {
      await this.dexie.table(change.table).bulkDelete([...change.remove]);
      if (change.table !== 'conversations') return;
      for (const id of change.remove)
        await messages.where('[convId+order]').between([id, -Infinity], [id, []]).delete();
    } else if ('patch' in change) {
      const table: Table<object, string> = this.dexie.table(change.table);
      const row = await table.get(change.key);
      if (row) await table.put(patched(row, change.patch));
    } else if (change.table === 'messages') {
      const ids = [...new Set(change.put.map((message) => message.convId))];
      const there = new Set(
        (await this.table('conversations').bulkGet(ids)).flatMap((conversation) => conversation?.id ?? []),
      );
      await messages.bulkPut(change.put.filter((message) => there.has(message.convId)));
    } else {
      await this.dexie.table(change.table).bulkPut([...change.put]);
    }
  }
}

// Errors: Refusal.
export async function openDatabase(name: string, lost: (trouble: StorageTrouble) => void): Promise<Database> {
  if (typeof indexedDB === 'undefined') throw new Refusal('refused');
  await refuseNewer(name);
  const { Dexie } = await import('dexie');
  const dexie = new Dexie(name);
  dexie.version(version).stores(schema);
  const database = new Database(dexie, lost);
  try {
    await dexie.open();
  } catch (error) {
    dexie.close();
    throw new Refusal(isQuota(error) ? 'full' : 'refused', error);
  }
  return database;
}

// Dexie opens databases of newer versions and adds what it misses. So this is asked before, in a transaction that
// changes nothing.
function refuseNewer(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let request: IDBOpenDBRequest;
    try {
      request = indexedDB.open(name, nativeVersion);
    } catch (error) {
      reject(new Refusal('refused', error));
      return;
    }
    request.onupgradeneeded = () => request.transaction!.abort();
    request.onsuccess = () => {
      request.result.close();
      resolve();
    };
    request.onerror = (event) => {
      event.preventDefault();
      const error = request.error?.name;
      // AbortError is our own doing: there is none yet, or an older one.
      if (error === 'AbortError') resolve();
      else
        reject(
          new Refusal(error === 'VersionError' ? 'newer' : isQuota(request.error) ? 'full' : 'refused', request.error),
        );
    };
  });
}

// Dexie wraps the browser's errors.
export function isQuota(error: unknown): boolean {
  for (let each = error, depth = 0; depth < 4 && typeof each === 'object' && each !== null; ++depth) {
    const { name, inner, cause } = each as { name?: unknown; inner?: unknown; cause?: unknown };
    if (name === 'QuotaExceededError') return true;
    each = inner ?? cause;
  }
  return false;
}
