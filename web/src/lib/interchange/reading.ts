// What readers of formats share: where files of messages go, and what turned out wrong.
import { sha256OfBlob } from '#lib/base/sha256.ts';
import { repair } from '#lib/conversations/repair.ts';
import { byOrder, newestLeaf, treeOf } from '#lib/conversations/tree.ts';
import type { Conversation, Id, Message } from '#lib/types/conversation.ts';

export interface Imported {
  // The file it came from.
  file: string;
  conversation: Conversation;
  // A whole tree: one root, every parent there. In their order.
  messages: Message[];
  // Bytes of its files by SHA-256.
  files: Map<string, Blob>;
}

export interface Problem {
  file: string;
  // Sentences.
  why: string;
}

// Of one conversation. Problems are told once however often they occur.
export class Reading {
  readonly files = new Map<string, Blob>();
  readonly problems = new Set<string>();

  constructor(
    // Another file of the same archive, by what its name contains.
    readonly beside: (name: string) => Promise<Blob | undefined> = async () => undefined,
  ) {}

  async put(blob: Blob): Promise<string> {
    const sha256 = await sha256OfBlob(blob);
    this.files.set(sha256, blob);
    return sha256;
  }

  // Of what was read: a whole tree, and a leaf that is there. Undefined when there are no messages.
  settle(file: string, conversation: Conversation, given: readonly Message[]): Imported | undefined {
    const { messages: repaired, problems } = repair(conversation.id, given);
    for (const problem of problems) this.problems.add(problem);
    const messages = repaired.sort(byOrder);
    if (messages.length < 2) {
      this.problems.add('It has no messages.');
      return undefined;
    }
    const tree = treeOf(messages);
    const shown = tree.messages.has(conversation.currNode) ? conversation.currNode : tree.root;
    return { file, conversation: { ...conversation, currNode: newestLeaf(tree, shown) }, messages, files: this.files };
  }

  // With the name of the conversation that they are of.
  told(file: string, name: string): Problem[] {
    return [...this.problems].map((why) => ({ file, why: name === '' ? why : `In “${name}”: ${why}` }));
  }
}

// Where files say nothing of the order: by time, those of one time as they stand there.
export function numbered(messages: readonly Message[]): Message[] {
  const sorted = messages.map((message, i) => ({ message, i }));
  sorted.sort((a, b) => a.message.timestamp - b.message.timestamp || a.i - b.i);
  const ranks = new Map(sorted.map(({ i }, rank) => [i, rank + 1]));
  return messages.map((message, i) => ({ ...message, order: message.role === 'root' ? 0 : ranks.get(i)! }));
}

// Siblings in the order of their parents' lists, where there are such.
export function orderedBy(messages: readonly Message[], childrenOf: (id: Id) => readonly unknown[]): Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const orders = new Map<Id, number>();
  for (const { id } of messages) {
    const listed = [...new Set(childrenOf(id))];
    const children = listed.flatMap((child) => byId.get(child as Id) ?? []).filter((child) => child.parent === id);
    const places = children.map((child) => child.order).sort((a, b) => a - b);
    children.forEach((child, i) => orders.set(child.id, places[i]!));
  }
  return messages.map((message) => ({ ...message, order: orders.get(message.id) ?? message.order }));
}

// What can be a key: a text that is not empty, and no text for its own sake.
export function idOf(value: unknown): Id | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 200 ? value : undefined;
}
