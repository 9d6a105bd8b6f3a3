// Which marks of what the server was not told (tables.ts) changes leave behind. They are written in the transaction of
// the changes, so that neither is there without the other.
import { newId } from '#lib/base/ids.ts';
import { keptTables, keyOf, unsentKey, type Change, type KeptTable, type Unsent } from './tables.ts';

export const newStamp = newId;

export function marksOf(changes: readonly Change[], time: number, stamp: string): Unsent[] {
  const out = new Map<string, Unsent>();
  const note = (table: KeptTable, id: string, rest: Pick<Unsent, 'member' | 'removed'> = {}) => {
    const key = unsentKey(table, id, rest.member);
    out.set(key, { key, table, id, ...rest, time, stamp });
  };
  // With a conversation go its messages, at the server too: one that is removed here and there must not lose them here
  // and keep itself there.
  const takesMessages = changes.some((change) => change.table === 'conversations' && 'remove' in change);
  for (const change of changes) {
    const table = keptTables.find((each) => each === change.table);
    if (!table) continue;
    if ('put' in change) {
      for (const row of change.put) note(table, keyOf(table, row));
    } else if ('remove' in change) {
      if (table === 'messages' && takesMessages) continue;
      for (const id of change.remove) note(table, id, { removed: true });
    } else if (!out.has(unsentKey(table, change.key))) {
      for (const member of Object.keys(change.patch)) note(table, change.key, { member });
    }
  }
  return [...out.values()];
}
