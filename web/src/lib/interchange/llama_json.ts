// llama-server's older export: {conv, messages}, or an array of these, as they are in its database.
import { dictOf, isDict, listOf, type Dict } from '#lib/base/values.ts';
import { childrenOf, treeOf } from '#lib/conversations/tree.ts';
import type { FileOf } from './llama_files.ts';
import { conversationOfRecord, messagesOfRecords, recordOfConversation, recordOfMessage } from './llama_records.ts';
import type { Exported } from './index.ts';
import type { Format } from './formats.ts';

export const llamaJson: Format = {
  is: (item) => isDict(item.conv) && Array.isArray(item.messages),
  async read(file, item, reading) {
    const conversation = conversationOfRecord(dictOf(item.conv), reading);
    const messages = await messagesOfRecords(listOf(item.messages), conversation.id, reading);
    return { name: conversation.name, imported: reading.settle(file, conversation, messages) };
  },
};

export async function writeJson({ conversation, messages }: Exported, fileOf: FileOf): Promise<Dict> {
  const tree = treeOf(messages);
  const records: Dict[] = [];
  for (const message of tree.messages.values()) {
    records.push(await recordOfMessage(message, childrenOf(tree, message.id), fileOf, 'database'));
  }
  return { conv: recordOfConversation(conversation), messages: records };
}
