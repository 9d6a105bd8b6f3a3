// The tree of a conversation's messages, as pure functions. Nothing is changed in place; no function recurses, for a
// conversation of 10,000 messages is 10,000 deep.
import type { Id, Message } from '#lib/types/conversation.ts';

export interface Tree {
  // The hidden message above all others.
  readonly root: Id;
  readonly messages: ReadonlyMap<Id, Message>;
  // Of those that have any, oldest first.
  readonly children: ReadonlyMap<Id, readonly Id[]>;
  // The highest `order`.
  readonly top: number;
}

const none: readonly Id[] = [];

// Two tabs may give the same order: the time and the id decide, in every tab alike.
export function byOrder(a: Message, b: Message): number {
  return a.order - b.order || a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

// Of a whole tree, as repair.ts makes it. Errors: throws without a root.
export function treeOf(messages: Iterable<Message>): Tree {
  const sorted = [...messages].sort(byOrder);
  const root = sorted.find((message) => message.parent === null);
  if (!root) throw new Error('A tree of messages has no root.');
  const children = new Map<Id, Id[]>();
  for (const { id, parent } of sorted) {
    if (parent === null) continue;
    const beside = children.get(parent);
    if (beside) beside.push(id);
    else children.set(parent, [id]);
  }
  return {
    root: root.id,
    messages: new Map(sorted.map((message) => [message.id, message])),
    children,
    top: sorted.at(-1)!.order,
  };
}

// With these messages, new ones or in place of those of the same id.
export function withMessages(tree: Tree, more: readonly Message[]): Tree {
  const inPlace = more.every((message) => {
    const known = tree.messages.get(message.id);
    return (
      known && known.parent === message.parent && known.order === message.order && known.timestamp === message.timestamp
    );
  });
  const messages = new Map(tree.messages);
  for (const message of more) messages.set(message.id, message);
  if (inPlace) return { ...tree, messages };
  const one = more.length === 1 ? more[0]! : undefined;
  if (!one || one.parent === null || tree.messages.has(one.id) || one.order <= tree.top)
    return treeOf(messages.values());
  // The usual case, a newest message.
  const children = new Map(tree.children).set(one.parent, [...childrenOf(tree, one.parent), one.id]);
  return { ...tree, messages, children, top: one.order };
}

export function childrenOf(tree: Tree, id: Id): readonly Id[] {
  return tree.children.get(id) ?? none;
}

export function siblingsOf(tree: Tree, id: Id): { index: number; of: readonly Id[] } {
  const parent = tree.messages.get(id)?.parent;
  const of = parent ? childrenOf(tree, parent) : [id];
  return { index: of.indexOf(id), of };
}

// From the first message below the root down to this one; empty for the root and for what is not there.
export function pathTo(tree: Tree, id: Id): Message[] {
  const path: Message[] = [];
  for (let at = tree.messages.get(id); at && at.parent !== null; at = tree.messages.get(at.parent)) {
    path.push(at);
    if (path.length > tree.messages.size) return [];
  }
  return path.reverse();
}

// The message and all below it.
export function branchesFrom(tree: Tree, id: Id): Message[] {
  const out: Message[] = [];
  const waiting = tree.messages.has(id) ? [id] : [];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    out.push(tree.messages.get(at)!);
    waiting.push(...childrenOf(tree, at));
  }
  return out;
}

// The end of the branch that was written last among those through this message: the message itself when nothing follows
// it.
export function newestLeaf(tree: Tree, id: Id): Id {
  let newest: Message | undefined;
  for (const message of branchesFrom(tree, id)) {
    if (childrenOf(tree, message.id).length === 0 && (!newest || byOrder(newest, message) < 0)) newest = message;
  }
  return newest?.id ?? id;
}

// The leaf to show: this one where it is there, else the newest.
export function leafOr(tree: Tree, id: Id): Id {
  return tree.messages.has(id) ? id : newestLeaf(tree, tree.root);
}

export function withoutMessages(tree: Tree, ids: Iterable<Id>): Tree {
  const gone = new Set(ids);
  return treeOf([...tree.messages.values()].filter((message) => !gone.has(message.id)));
}

// What is shown when the branch below this message goes: the branch beside it (the next older one, else the next newer
// one), else what was said before.
export function leafWithout(tree: Tree, removed: Id): Id {
  const { index, of } = siblingsOf(tree, removed);
  const beside = of[index - 1] ?? of[index + 1];
  return beside !== undefined ? newestLeaf(tree, beside) : (tree.messages.get(removed)?.parent ?? tree.root);
}

// The branch down to this message as a conversation of its own: a root and copies, oldest first.
export function forked(tree: Tree, id: Id, convId: Id, newId: () => Id): Message[] {
  const out: Message[] = [];
  for (const message of [tree.messages.get(tree.root)!, ...pathTo(tree, id)]) {
    const parent = out.at(-1)?.id ?? null;
    const copy: Message = { ...message, id: newId(), convId, parent, order: out.length };
    // The stream writes the message that it was made for.
    delete copy.streamId;
    delete copy.offset;
    if (copy.status === 'writing') copy.status = 'cut';
    out.push(copy);
  }
  return out;
}
