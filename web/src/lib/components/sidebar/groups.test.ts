import { expect, test } from 'vitest';
import type { Conversation } from '#lib/types/conversation.ts';
import { grouped } from './groups.ts';

const now = new Date(2026, 2, 29, 15).getTime();
const chat = (id: string, days: number, pinned = false): Conversation => ({
  id,
  name: id,
  lastModified: new Date(2026, 2, 29 - days, 12).getTime(),
  currNode: '',
  pinned,
});

test('chats stand under their days, pinned ones first', () => {
  const groups = grouped([chat('a', 0), chat('b', 1), chat('p', 2, true), chat('c', 7), chat('d', 8), chat('e', 30), chat('f', 31)], now);
  expect(groups.map((group) => [group.key, group.list.map((one) => one.id).join()])).toEqual([
    ['pinned', 'p'],
    ['today', 'a'],
    ['yesterday', 'b'],
    ['last7', 'c'],
    ['last30', 'd,e'],
    ['2026-02', 'f'],
  ]);
});
