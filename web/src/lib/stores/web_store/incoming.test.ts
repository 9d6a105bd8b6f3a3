import { describe, expect, it } from 'vitest';
import { newConversation, newRoot } from '#lib/conversations/new.ts';
import { foundOf, unsentKey, type Rows, type TableName, type Unsent } from '#lib/storage/tables.ts';
import type { WebRow } from '#lib/types/web_store.ts';
import { taken } from './incoming.ts';

const chat = newConversation({ id: 'c', name: 'Here', currNode: 'r', lastModified: 1 });
const mark = (time: number, rest: Pick<Unsent, 'member' | 'removed'> = {}): Unsent => {
  const row = { table: 'conversations', id: 'c' } as const;
  return { ...row, key: unsentKey(row.table, row.id, rest.member), time, stamp: 's', ...rest };
};
const gone: WebRow = { table: 'conversations', id: 'c', removed: 5 };
const named = (name: string, time: number): WebRow => {
  const { id: _, ...value } = { ...chat, name };
  return { table: 'conversations', id: 'c', value, times: { name: time, lastModified: 1, currNode: 1, pinned: 1 } };
};
function take(row: WebRow, here: { chat?: boolean; marks?: Unsent[] }) {
  const rows = new Map<TableName, readonly Rows[TableName][]>([
    ['conversations', here.chat === false ? [] : [chat]],
    ['unsent', here.marks ?? []],
  ]);
  return taken([row], foundOf(rows));
}

describe('what a server has', () => {
  it('is taken with its draft where it is gone, unless it came back later here', () => {
    const removal = [
      { table: 'drafts', remove: ['c'] },
      { table: 'conversations', remove: ['c'] },
    ];
    expect(take(gone, {})).toEqual({ changes: removal, leftOut: false });
    expect(take(gone, { marks: [mark(6)] }).changes).toEqual([]);
    const settled = { table: 'unsent', remove: ['conversations/c'] };
    expect(take(gone, { marks: [mark(5)] }).changes).toEqual([...removal, settled]);
    expect(take(gone, { chat: false }).changes).toEqual([]);
  });

  it('holds where it is later, and settles what is earlier here', () => {
    const patch = { table: 'conversations', key: 'c', patch: { name: 'There' } };
    expect(take(named('There', 5), {}).changes).toEqual([patch]);
    const settled = { table: 'unsent', remove: ['conversations/c/name'] };
    expect(take(named('There', 5), { marks: [mark(4, { member: 'name' })] }).changes).toEqual([patch, settled]);
    expect(take(named('There', 5), { marks: [mark(5, { member: 'name' })] }).changes).toEqual([]);
    expect(take(named('There', 5), { marks: [mark(6)] }).changes).toEqual([]);
    expect(take(named('Here', 5), {}).changes).toEqual([]);
  });

  it('is asked for again where it was removed here, untold', () => {
    expect(take(named('There', 9), { chat: false, marks: [mark(5, { removed: true })] })).toEqual({
      changes: [],
      leftOut: true,
    });
    const { id, ...value } = newRoot('c');
    const message: WebRow = { table: 'messages', id, value: { ...value }, times: {} };
    expect(take(message, { chat: false, marks: [mark(5, { removed: true })] })).toEqual({ changes: [], leftOut: true });
    expect(take(message, { chat: false })).toEqual({ changes: [], leftOut: false });
    expect(take(message, {}).changes).toEqual([{ table: 'messages', put: [{ ...value, id }] }]);
  });

  it('is left out where it would make a row none', () => {
    const bad = named('There', 5) as Extract<WebRow, { value: object }>;
    expect(take({ ...bad, value: { ...bad.value, name: 7 } }, {}).changes).toEqual([]);
    expect(take({ ...bad, value: { ...bad.value, name: 7 } }, { chat: false }).changes).toEqual([]);
  });
});
