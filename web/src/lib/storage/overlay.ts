// Changes that the database does not have: all of them where there is no database, those since it was full where it is.
// Reads lay them over what the database says.
import { equal } from '#lib/base/values.ts';
import { keyOf, patched, tableNames, type Change, type Patch, type Rows, type TableName } from './tables.ts';

type Entry = { row: Rows[TableName] } | { patch: Patch<Rows[TableName]> } | 'gone';

export class Overlay {
  #tables = new Map<TableName, Map<string, Entry>>(tableNames.map((name) => [name, new Map()]));

  get empty(): boolean {
    return [...this.#tables.values()].every((entries) => entries.size === 0);
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) {
      const entries = this.#of(change.table);
      if ('put' in change) {
        for (const row of change.put) entries.set(keyOf(change.table, row), { row });
      } else if ('remove' in change) {
        for (const key of change.remove) entries.set(key, 'gone');
        if (change.table === 'conversations') this.#removeMessages(new Set(change.remove));
      } else {
        const known = entries.get(change.key);
        const patch = change.patch as Patch<Rows[TableName]>;
        if (!known) entries.set(change.key, { patch });
        else if (known !== 'gone' && 'row' in known) entries.set(change.key, { row: patched(known.row, patch) });
        else if (known !== 'gone') entries.set(change.key, { patch: { ...known.patch, ...patch } });
      }
    }
  }

  // Changes that the database has, and that are newer than what is here of the same rows. A row that waits is patched and
  // waits on.
  drop(changes: readonly Change[]): void {
    for (const change of changes) {
      const entries = this.#of(change.table);
      if ('put' in change) for (const row of change.put) entries.delete(keyOf(change.table, row));
      else if ('remove' in change) for (const key of change.remove) entries.delete(key);
      else {
        const known = entries.get(change.key);
        const patch = change.patch as Patch<Rows[TableName]>;
        if (!known || known === 'gone') continue;
        if ('row' in known) entries.set(change.key, { row: patched(known.row, patch) });
        else this.#keepOf(change.table, change.key, known.patch, (member) => !(member in patch));
      }
    }
  }

  // Changes that waited here, or in another tab that told of them, and that the database has by now. What is here of the
  // same rows may have changed since: that waits on.
  settle(changes: readonly Change[]): void {
    for (const change of changes) {
      const entries = this.#of(change.table);
      if ('put' in change) {
        for (const row of change.put) this.#settleRow(change.table, row);
      } else if ('remove' in change) {
        for (const key of change.remove) if (entries.get(key) === 'gone') entries.delete(key);
      } else {
        const known = entries.get(change.key);
        if (!known || known === 'gone' || !('patch' in known)) continue;
        const other = isOther(known.patch, change.patch);
        this.#keepOf(change.table, change.key, known.patch, (member) => !(member in change.patch) || other(member));
      }
    }
  }

  // Conversations first: messages are only written where theirs is there.
  changes(): Change[] {
    const out: Change[] = [];
    for (const [table, entries] of this.#tables) {
      const put: Rows[TableName][] = [];
      const remove: string[] = [];
      for (const [key, entry] of entries) {
        if (entry === 'gone') remove.push(key);
        else if ('row' in entry) put.push(entry.row);
        else out.push({ table, key, patch: entry.patch } as Change);
      }
      if (put.length > 0) out.push({ table, put } as Change);
      if (remove.length > 0) out.push({ table, remove } as Change);
    }
    return out;
  }

  row<T extends TableName>(table: T, key: string, below: Rows[T] | undefined): Rows[T] | undefined {
    const entry = this.#of(table).get(key);
    if (!entry) return below;
    if (entry === 'gone') return undefined;
    if ('row' in entry) return entry.row as Rows[T];
    return below && patched(below, entry.patch as Patch<Rows[T]>);
  }

  // These rows as they are with the changes; rows that are only here are in `added`.
  rows<T extends TableName>(table: T, below: readonly Rows[T][]): Rows[T][] {
    if (this.#of(table).size === 0) return [...below];
    return below.flatMap((row) => this.row(table, keyOf(table, row), row) ?? []);
  }
  // Rows of which the database may know nothing, but for those of `below`.
  added<T extends TableName>(table: T, below: ReadonlySet<string>): Rows[T][] {
    const out: Rows[T][] = [];
    for (const [key, entry] of this.#of(table)) {
      if (entry !== 'gone' && 'row' in entry && !below.has(key)) out.push(entry.row as Rows[T]);
    }
    return out;
  }

  #of(table: TableName): Map<string, Entry> {
    return this.#tables.get(table)!;
  }

  #settleRow(table: TableName, row: Rows[TableName]): void {
    const key = keyOf(table, row);
    const known = this.#of(table).get(key);
    if (!known || known === 'gone') return;
    if ('patch' in known) this.#keepOf(table, key, known.patch, isOther(known.patch, row));
    else if (equal(known.row, row)) this.#of(table).delete(key);
  }

  // Of a patch that waits, these members wait on.
  #keepOf(table: TableName, key: string, patch: Patch<Rows[TableName]>, waits: (member: string) => boolean): void {
    const left = Object.entries(patch).filter(([member]) => waits(member));
    if (left.length === 0) this.#of(table).delete(key);
    else this.#of(table).set(key, { patch: Object.fromEntries(left) });
  }

  #removeMessages(conversations: ReadonlySet<string>): void {
    const messages = this.#of('messages');
    for (const [key, entry] of messages) {
      if (entry !== 'gone' && 'row' in entry && conversations.has((entry.row as Rows['messages']).convId))
        messages.set(key, 'gone');
    }
  }
}

// Whether a member of `patch` is another than that of `saved`, a row or a patch.
function isOther(patch: object, saved: object): (member: string) => boolean {
  const [ours, theirs] = [patch, saved] as Record<string, unknown>[];
  return (member) => !equal(ours![member], theirs![member]);
}
