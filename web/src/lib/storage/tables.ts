// The tables, and changes of them as data: what is written in one transaction, told to other tabs, and kept while it
// cannot be written.
import type { Conversation, Draft, Message, Preset } from '#lib/types/conversation.ts';

export interface StoredFile {
  sha256: string;
  type: string; // MIME
  bytes: Blob;
  // When a sweep first found nothing that refers to it.
  unusedSince?: number;
}

// Tables whose rows a server can keep for several devices (docs/decisions/conversations-in-the-page.md).
export const keptTables = ['conversations', 'messages', 'presets'] as const;
export type KeptTable = (typeof keptTables)[number];

// What the server has not been told of a row: a mark of the row as a whole, and one of each member that was changed.
export interface Unsent {
  key: string; // unsentKey
  table: KeptTable;
  id: string;
  // None: all of the row.
  member?: string;
  // The row is gone.
  removed?: true;
  time: number; // ms since 1970
  // Another for each commit, which tells a mark from one that came after it.
  stamp: string;
}

export function unsentKey(table: KeptTable, id: string, member?: string): string {
  return member === undefined ? `${table}/${id}` : `${table}/${id}/${member}`;
}

export interface Rows {
  conversations: Conversation;
  messages: Message;
  files: StoredFile;
  drafts: Draft;
  presets: Preset;
  values: { key: string; value: unknown };
  unsent: Unsent;
}

export type TableName = keyof Rows;

// Keys and indices, in Dexie's words.
export const schema: Record<TableName, string> = {
  conversations: 'id',
  messages: 'id, [convId+order]',
  files: 'sha256',
  drafts: 'id',
  presets: 'id',
  values: 'key',
  unsent: 'key',
};

export const tableNames = Object.keys(schema) as TableName[];

export function keyOf(table: TableName, row: Rows[TableName]): string {
  return (row as unknown as Record<string, string>)[schema[table].split(',')[0]!]!;
}

// Rows to read: those of these keys, or all of the table.
export type Wanted = { readonly [T in TableName]?: readonly string[] | 'all' };
// Of a table, those of them that are there, by key.
export type Found = <T extends TableName>(table: T) => ReadonlyMap<string, Rows[T]>;

export function foundOf(rows: ReadonlyMap<TableName, readonly Rows[TableName][]>): Found {
  const byKey = new Map(
    [...rows].map(([table, list]) => [table, new Map(list.map((row) => [keyOf(table, row), row]))] as const),
  );
  return <T extends TableName>(table: T) => (byKey.get(table) ?? new Map()) as ReadonlyMap<string, Rows[T]>;
}

// A member that is undefined goes.
export type Patch<T> = { [K in keyof T]?: T[K] | undefined };

export type ChangeOf<T extends TableName> =
  | { table: T; put: readonly Rows[T][] }
  // Of a row that is not there: nothing.
  | { table: T; patch: Patch<Rows[T]>; key: string }
  // With a conversation go its messages.
  | { table: T; remove: readonly string[] };

export type Change = { [T in TableName]: ChangeOf<T> }[TableName];

export function patched<T extends object>(row: T, patch: Patch<T>): T {
  const out = { ...row, ...patch };
  for (const key of Object.keys(patch) as (keyof T)[]) if (patch[key] === undefined) delete out[key];
  return out as T;
}
