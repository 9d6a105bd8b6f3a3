// What a server is to be told: the rows of which there are marks, as changes in the order in which they may be sent.
import { compact, type Dict } from '#lib/base/values.ts';
import { byOrder } from '#lib/conversations/tree.ts';
import type { KeptTable, Rows, Unsent } from '#lib/storage/tables.ts';
import type { Id, Message } from '#lib/types/conversation.ts';
import type { WebChange } from '#lib/types/web_store.ts';

// Of one row.
export interface Part {
  // What goes together: a conversation, or what is alone.
  unit: string;
  changes: WebChange[];
  // What is settled once they are sent.
  marks: Unsent[];
  // SHA-256 of the files that have to be there before.
  files: string[];
}

export interface Outgoing {
  // Parents before what follows them, so that no device sees a branch without its beginning.
  parts: Part[];
  // Marks of what is not here any more and needs no word.
  settled: Unsent[];
  // Rows of conversations in which an answer is being written.
  waiting: number;
}

export type RowsById = { readonly [T in KeptTable]: ReadonlyMap<string, Rows[T]> };

interface Marked {
  table: KeptTable;
  id: string;
  row: Rows[KeptTable] | undefined;
  whole: Unsent | undefined;
  members: Unsent[];
}

export function outgoing(marks: readonly Unsent[], rows: RowsById): Outgoing {
  const all = [...marked(marks, rows)];
  const conversationOf = ({ table, id, row }: Marked): Id | undefined =>
    table === 'conversations' ? id : table === 'messages' ? (row as Message | undefined)?.convId : undefined;
  const writing = new Set(
    all
      .filter(({ table, row }) => table === 'messages' && (row as Message | undefined)?.status === 'writing')
      .map(conversationOf),
  );
  const out: Outgoing = { parts: [], settled: [], waiting: 0 };
  for (const each of all.sort(inOrder)) {
    const conversation = conversationOf(each);
    const changes = changesOf(each);
    const own = each.whole ? [each.whole, ...each.members] : each.members;
    if (changes.length === 0) out.settled.push(...own);
    else if (each.row && conversation !== undefined && writing.has(conversation)) ++out.waiting;
    else {
      const unit = conversation ?? `${each.table}/${each.id}`;
      const files = each.table === 'messages' && each.row ? filesOf(each.row as Message) : [];
      out.parts.push({ unit, changes, marks: own, files });
    }
  }
  return out;
}

function marked(marks: readonly Unsent[], rows: RowsById): Iterable<Marked> {
  const out = new Map<string, Marked>();
  for (const mark of marks) {
    const { table, id, member } = mark;
    const key = `${table}/${id}`;
    const known = out.get(key) ?? { table, id, row: rows[table].get(id), whole: undefined, members: [] };
    if (member === undefined) known.whole = mark;
    else known.members.push(mark);
    out.set(key, known);
  }
  return out.values();
}

const rank: Record<KeptTable, number> = { presets: 0, conversations: 1, messages: 2 };

// Those that are gone first; then a conversation after the other, each with its messages behind it.
function inOrder(a: Marked, b: Marked): number {
  if (!a.row || !b.row) return Number(a.row !== undefined) - Number(b.row !== undefined) || (a.id < b.id ? -1 : 1);
  const [ofA, ofB] = [owner(a), owner(b)];
  if (ofA !== ofB) return ofA < ofB ? -1 : 1;
  if (a.table !== b.table) return rank[a.table] - rank[b.table];
  return a.table === 'messages' ? byOrder(a.row as Message, b.row as Message) : 0;
}
const owner = ({ table, id, row }: Marked) => (table === 'messages' ? (row as Message).convId : id);

function changesOf({ table, id, row, whole, members }: Marked): WebChange[] {
  if (whole?.removed) return [{ table, id, time: whole.time, removed: true }];
  if (!row) return [];
  const { id: _, ...own } = compact(row) as unknown as Dict;
  const changes: WebChange[] = whole ? [{ table, id, time: whole.time, whole: true, value: own }] : [];
  const later = new Map<number, string[]>();
  for (const { member, time } of members) {
    if (member === undefined || member === 'id' || (whole && time <= whole.time)) continue;
    later.set(time, [...(later.get(time) ?? []), member]);
  }
  for (const [time, names] of [...later].sort(([a], [b]) => a - b)) {
    const value = Object.fromEntries(names.filter((name) => name in own).map((name) => [name, own[name]]));
    const without = names.filter((name) => !(name in own));
    changes.push({ table, id, time, value, ...(without.length > 0 && { without }) });
  }
  return changes;
}

function filesOf({ files }: Message): string[] {
  return [...new Set(files.flatMap(({ sha256, pages }) => [sha256, ...(pages ?? [])]))];
}
