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

export interface Rows {
  conversations: Conversation;
  messages: Message;
  files: StoredFile;
  drafts: Draft;
  presets: Preset;
  values: { key: string; value: unknown };
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
};

export const tableNames = Object.keys(schema) as TableName[];

export function keyOf(table: TableName, row: Rows[TableName]): string {
  return (row as unknown as Record<string, string>)[schema[table].split(',')[0]!]!;
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
