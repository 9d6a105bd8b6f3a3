// Takes an imported conversation in where some of it may be here already. Messages do not change once they are done, so
// those of the same id are the same: the others are added.
import { newId } from '#lib/base/ids.ts';
import type { Conversation, Id, Message } from '#lib/types/conversation.ts';

export interface Tree {
  conversation: Conversation;
  messages: readonly Message[];
}

// `here`: the conversation of that id with its messages, where there is one. `taken`: ids of messages of other
// conversations. Gives what is to be written, under new ids where these are those of others; undefined when all of it
// is here.
export function merged(imported: Tree, here: Tree | undefined, taken: ReadonlySet<Id>): Tree | undefined {
  const root = (tree: Tree) => tree.messages.find((message) => message.parent === null)?.id;
  const isOther = here !== undefined && root(here) !== root(imported);
  if (isOther || imported.messages.some((message) => taken.has(message.id))) return renamed(imported);
  if (!here) return imported;
  const known = new Set(here.messages.map((message) => message.id));
  const messages = imported.messages.filter((message) => !known.has(message.id));
  if (messages.length === 0) return undefined;
  const newer = imported.conversation.lastModified > here.conversation.lastModified;
  return {
    conversation: newer ? { ...imported.conversation, pinned: here.conversation.pinned } : here.conversation,
    messages,
  };
}

function renamed({ conversation, messages }: Tree): Tree {
  const convId = newId();
  const names = new Map(messages.map((message) => [message.id, newId()]));
  return {
    conversation: { ...conversation, id: convId, currNode: names.get(conversation.currNode) ?? conversation.currNode },
    messages: messages.map((message) => ({
      ...message,
      id: names.get(message.id)!,
      convId,
      parent: message.parent === null ? null : names.get(message.parent)!,
    })),
  };
}
