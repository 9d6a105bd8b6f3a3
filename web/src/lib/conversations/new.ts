// New records, with what is not said filled in.
import { newId } from '#lib/base/ids.ts';
import { compact } from '#lib/base/values.ts';
import type { Conversation, Id, Message } from '#lib/types/conversation.ts';

export function newMessage(from: Partial<Message> & Pick<Message, 'convId' | 'parent' | 'order' | 'role'>): Message {
  return { id: newId(), content: '', files: [], status: 'done', timestamp: Date.now(), ...compact(from) };
}

export function newRoot(convId: Id): Message {
  return newMessage({ convId, parent: null, order: 0, role: 'root' });
}

export function newConversation(from: Partial<Conversation> & Pick<Conversation, 'currNode'>): Conversation {
  return { id: newId(), name: '', lastModified: Date.now(), pinned: false, ...compact(from) };
}
