// Makes a whole tree of what stands in a damaged file or database: one root, every parent there, no circle, every id
// once. Nothing is thrown away but what has no content; what was wrong is told.
import { newId } from '#lib/base/ids.ts';
import { equal } from '#lib/base/values.ts';
import type { Id, Message } from '#lib/types/conversation.ts';
import { newRoot } from './new.ts';
import { byOrder } from './tree.ts';

export interface Repaired {
  messages: Message[];
  // Those of `messages` that are not as they were given.
  changed: Message[];
  // Sentences.
  problems: string[];
}

const times = (n: number, one: string, many: string) => (n === 1 ? `One message ${one}` : `${n} messages ${many}`);

export function repair(convId: Id, given: readonly Message[]): Repaired {
  const problems: string[] = [];
  const changed = new Map<Id, Message>();
  const byId = new Map<Id, Message>();
  const set = (message: Message, isChanged: boolean) => {
    byId.set(message.id, message);
    if (isChanged) changed.set(message.id, message);
  };

  let doubles = 0;
  for (const message of given) {
    const known = byId.get(message.id);
    if (known && equal({ ...known, order: 0 }, { ...message, order: 0 })) continue;
    if (known) ++doubles;
    const own = known ? { ...message, id: newId() } : message;
    set(own.convId === convId ? own : { ...own, convId }, own !== message || own.convId !== convId);
  }
  if (doubles > 0)
    problems.push(`${times(doubles, 'has the id of another; it', 'have ids of others; they')} got a new one.`);

  // The first one without a parent that is meant to be hidden is the root; other such ones stand below it.
  const roots = [...byId.values()].filter((message) => message.parent === null);
  let root = roots.find((message) => message.role === 'root');
  if (!root) {
    // Some programs leave it out: then the first messages name it, all the same one.
    const missing = new Set(
      [...byId.values()].map((message) => message.parent).filter((id) => id !== null && !byId.has(id)),
    );
    root = newRoot(convId);
    if (roots.length === 0 && missing.size === 1) root.id = [...missing][0]!;
    root.order = [...byId.values()].reduce((least, { order }) => Math.min(least, order), 1) - 1;
    root.timestamp = roots[0]?.timestamp ?? root.timestamp;
    set(root, true);
  }
  const below = (message: Message) => set({ ...message, parent: root.id }, true);
  for (const message of roots) {
    if (message !== root) below(message.role === 'root' ? { ...message, role: 'system' } : message);
  }

  const orphans = [...byId.values()].filter(({ parent }) => parent !== null && !byId.has(parent));
  if (orphans.length > 0)
    problems.push(`${times(orphans.length, 'follows one that is', 'follow ones that are')} missing.`);
  orphans.forEach(below);

  const cut = circles(byId, root.id);
  if (cut.length > 0) problems.push(`${times(cut.length, 'follows itself', 'follow themselves')} in a circle.`);
  for (const id of cut) below(byId.get(id)!);
  return { messages: [...byId.values()], changed: [...changed.values()], problems };
}

// One message of each circle of parents, the one with the least `order`.
function circles(byId: ReadonlyMap<Id, Message>, root: Id): Id[] {
  const known = new Set<Id>([root]);
  const out: Id[] = [];
  for (const start of byId.keys()) {
    const walk = new Set<Id>();
    let at: Id = start;
    for (; !known.has(at) && !walk.has(at); at = byId.get(at)!.parent ?? root) walk.add(at);
    if (!known.has(at)) {
      // `at` is on a circle, on which the walk began or to which it came: the end of the walk.
      const steps = [...walk];
      const circle = steps.slice(steps.indexOf(at)).map((id) => byId.get(id)!);
      out.push(circle.reduce((a, b) => (byOrder(a, b) <= 0 ? a : b)).id);
    }
    for (const id of walk) known.add(id);
  }
  return out;
}
