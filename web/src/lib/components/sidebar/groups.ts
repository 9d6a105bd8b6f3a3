// Conversations under the days of their last change.
import type { Conversation } from '#lib/types/conversation.ts';

export interface Group {
  // `pinned`, `today`, `yesterday`, `last7`, `last30`, or a month as `2026-11`.
  key: string;
  list: Conversation[];
}

const dayOf = (time: number) => new Date(time).setHours(0, 0, 0, 0);

function keyOf(one: Conversation, now: number): string {
  if (one.pinned) return 'pinned';
  // Days differ in length where clocks are changed: rounded.
  const days = Math.round((dayOf(now) - dayOf(one.lastModified)) / 86_400_000);
  if (days <= 0) return 'today';
  if (days === 1) return 'yesterday';
  if (days <= 7) return 'last7';
  if (days <= 30) return 'last30';
  const date = new Date(one.lastModified);
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`;
}

// `list`: newest first.
export function grouped(list: readonly Conversation[], now: number): Group[] {
  const groups = new Map<string, Group>([['pinned', { key: 'pinned', list: [] }]]);
  for (const one of list) {
    const key = keyOf(one, now);
    const group = groups.get(key) ?? { key, list: [] };
    group.list.push(one);
    groups.set(key, group);
  }
  return [...groups.values()].filter((group) => group.list.length > 0);
}
