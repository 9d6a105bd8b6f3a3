// Messages that were being written when they were last saved, of all conversations.
import type { Storage } from '../../storage/storage.ts';
import type { Id } from '../../types/conversation.ts';

export async function unfinished(storage: Pick<Storage, 'slices'>): Promise<{ convId: Id; messageId: Id }[]> {
  const found: { convId: Id; messageId: Id }[] = [];
  for await (const messages of storage.slices('messages')) {
    for (const { id, convId, status } of messages) if (status === 'writing') found.push({ convId, messageId: id });
  }
  return found;
}
