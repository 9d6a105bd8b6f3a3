// What a server has of rows that other devices changed, as changes of what is here. The rule is the server's own: the
// later time of a member wins, of equal times what comes later to the server, which is what it has not been told yet.
import { equal, isDict, numberOf, textOf, type Dict } from '#lib/base/values.ts';
import {
  keptTables,
  unsentKey,
  type Change,
  type Found,
  type KeptTable,
  type Rows,
  type Unsent,
  type Wanted,
} from '#lib/storage/tables.ts';
import type { Message } from '#lib/types/conversation.ts';
import type { WebRow } from '#lib/types/web_store.ts';

type Row = Rows[KeptTable];

// What `taken` has to know of what is here.
export function wantedFor(rows: readonly WebRow[]): Wanted {
  const ids = (table: KeptTable) => rows.filter((row) => row.table === table).map(({ id }) => id);
  const owners = rows.flatMap((row) =>
    row.table === 'messages' && 'value' in row ? (textOf(row.value['convId']) ?? []) : [],
  );
  return {
    unsent: 'all',
    conversations: [...new Set([...ids('conversations'), ...owners])],
    messages: ids('messages'),
    presets: ids('presets'),
  };
}

export interface Taken {
  changes: Change[];
  // Rows were left out that were removed here, of which the server has not been told: what holds of them is known when
  // it has been, and they have to be given again.
  leftOut: boolean;
}

export function taken(rows: readonly WebRow[], found: Found): Taken {
  const here = new Set(found('conversations').keys());
  const marks = found('unsent');
  const changes: Change[] = [];
  const settled: string[] = [];
  let leftOut = false;
  // Conversations first: messages are only written where theirs is there.
  for (const table of keptTables) {
    const removed: string[] = [];
    const put: Row[] = [];
    for (const row of rows.filter((each) => each.table === table)) {
      const known = found(table).get(row.id) as Row | undefined;
      const mark = marks.get(unsentKey(table, row.id));
      if (mark?.removed) {
        leftOut = true;
        continue;
      }
      if ('removed' in row) {
        if (mark && mark.time > row.removed) continue;
        if (mark) settled.push(mark.key);
        if (known) removed.push(row.id);
      } else if (known) {
        const { patch, older } = newer(table, known, row, mark, marks);
        settled.push(...older);
        if (Object.keys(patch).length > 0) changes.push({ table, key: row.id, patch } as Change);
      } else {
        const whole = rowOf(table, row.id, row.value);
        if (!whole) continue;
        const owner = table === 'messages' ? (whole as Message).convId : undefined;
        if (owner === undefined || here.has(owner)) put.push(whole);
        else leftOut ||= marks.get(unsentKey('conversations', owner))?.removed === true;
      }
    }
    if (table === 'conversations') {
      for (const id of removed) here.delete(id);
      for (const { id } of put) here.add(id);
      if (removed.length > 0) changes.push({ table: 'drafts', remove: removed });
    }
    if (removed.length > 0) changes.push({ table, remove: removed } as Change);
    if (put.length > 0) changes.push({ table, put } as Change);
  }
  if (settled.length > 0) changes.push({ table: 'unsent', remove: settled });
  return { changes, leftOut };
}

// Members that are later at the server; and the marks that are older than that.
function newer(
  table: KeptTable,
  known: Row,
  row: Extract<WebRow, { value: Dict }>,
  whole: Unsent | undefined,
  marks: ReadonlyMap<string, Unsent>,
): { patch: Dict; older: string[] } {
  const own = known as unknown as Dict;
  const entries: [string, unknown][] = [];
  const older: string[] = [];
  // A member that the server does not know, and is not to be told of, went with a removal that was undone elsewhere.
  const unknown = Object.keys(own).filter((member) => !Object.hasOwn(row.times, member));
  const times = [...Object.entries(row.times), ...unknown.map((member) => [member, 0] as const)];
  for (const [member, time] of times) {
    const mark = marks.get(unsentKey(table, row.id, member));
    if (member === 'id' || Math.max(whole?.time ?? -1, mark?.time ?? -1) >= time) continue;
    if (mark) older.push(mark.key);
    const isThere = Object.hasOwn(row.value, member);
    const isOther = isThere ? !equal(own[member], row.value[member]) : Object.hasOwn(own, member);
    if (isOther) entries.push([member, isThere ? row.value[member] : undefined]);
  }
  const patch = Object.fromEntries(entries);
  return { patch: rowOf(table, row.id, { ...own, ...patch }) ? patch : {}, older };
}

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => numberOf(value) !== undefined;
const isFlag = (value: unknown) => typeof value === 'boolean';
const isTextOrNull = (value: unknown) => value === null || isText(value);

// What a row has to have to be shown.
const members: Record<KeptTable, Record<string, (value: unknown) => boolean>> = {
  conversations: { name: isText, lastModified: isNumber, currNode: isText, pinned: isFlag },
  messages: {
    convId: isText,
    parent: isTextOrNull,
    order: isNumber,
    role: isText,
    content: isText,
    files: Array.isArray,
    status: isText,
    timestamp: isNumber,
  },
  presets: {
    name: isText,
    system: isText,
    parameters: isDict,
    whenThinking: isDict,
    whenNotThinking: isDict,
    lastModified: isNumber,
  },
};

// Undefined: no such row, as another version of the page may write; it is left out.
function rowOf(table: KeptTable, id: string, value: Dict): Row | undefined {
  const isWhole = Object.entries(members[table]).every(([name, fits]) => fits(value[name]));
  return isWhole ? ({ ...value, id } as unknown as Row) : undefined;
}
