// llama-server's export: a line for each conversation (`session`), followed by a line for each of its messages. Lines
// of other kinds are kept with the conversation that they follow.
import { deeperThan, dictOf, isDict, restOf, textOf, type Dict } from '#lib/base/values.ts';
import { childrenOf, treeOf } from '#lib/conversations/tree.ts';
import type { FileOf } from './llama_files.ts';
import { conversationOfRecord, messagesOfRecords, recordOfConversation, recordOfMessage } from './llama_records.ts';
import { Reading, type Imported, type Problem } from './reading.ts';
import type { Exported } from './index.ts';

const harness = 'llama.app';
const deepest = 100;

export interface Line {
  // From 1.
  number: number;
  // Undefined: it is no JSON.
  value: unknown;
}

export function isRecord(value: unknown): boolean {
  return isDict(value) && (value.type === 'session' || (value.type === 'message' && isDict(value.message)));
}

export async function readJsonl(
  file: string,
  lines: AsyncIterable<Line>,
): Promise<{ conversations: Imported[]; problems: Problem[] }> {
  const conversations: Imported[] = [];
  const problems: Problem[] = [];
  const damaged: number[] = [];
  let session: Dict | undefined;
  let messages: unknown[] = [];
  let others: unknown[] = [];

  const end = async () => {
    if (!session) return;
    const reading = new Reading();
    const conversation = conversationOfRecord(sessionBody(session), reading);
    const kept = others.filter((record) => !deeperThan(record, deepest));
    if (kept.length > 0) conversation.records = kept;
    const imported = reading.settle(file, conversation, await messagesOfRecords(messages, conversation.id, reading));
    if (imported) conversations.push(imported);
    problems.push(...reading.told(file, conversation.name));
    session = undefined;
    messages = [];
    others = [];
  };

  for await (const { number, value } of lines) {
    if (value === undefined) damaged.push(number);
    else if (isDict(value) && value.type === 'session') {
      await end();
      session = value;
    } else if (isDict(value) && value.type === 'message' && isDict(value.message)) {
      // Its line is missing or damaged.
      session ??= { id: value.message.convId };
      messages.push(value.message);
    } else {
      // Before the first conversation it goes with that.
      others.push(value);
    }
  }
  await end();
  if (damaged.length > 0) {
    const listed = damaged.slice(0, 5).join(', ') + (damaged.length > 5 ? ` and ${damaged.length - 5} more` : '');
    problems.push({ file, why: `${damaged.length === 1 ? 'Line' : 'Lines'} ${listed}: no JSON, left out.` });
  }
  return { conversations, problems };
}

export async function* writeJsonl({ conversation, messages }: Exported, fileOf: FileOf): AsyncGenerator<string> {
  yield line({ harness, type: 'session', ...recordOfConversation(conversation) });
  const tree = treeOf(messages);
  for (const message of tree.messages.values()) {
    const record = await recordOfMessage(message, childrenOf(tree, message.id), fileOf, 'jsonl');
    yield line({ type: 'message', message: record });
  }
  for (const record of conversation.records ?? []) yield line(record);
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

// Of another program, the name is kept.
function sessionBody(session: Dict): Dict {
  const isTheirs = session.harness === harness || textOf(session.harness) === undefined;
  return dictOf(restOf(session, isTheirs ? ['type', 'harness'] : ['type']));
}
