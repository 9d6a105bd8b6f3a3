// Open WebUI's export: chat.history{messages{id: {parentId, childrenIds}}, currentId}; older ones have a list
// chat.messages alone.
import { blobOfDataUrl } from '#lib/base/base64.ts';
import { newConversation, newMessage } from '#lib/conversations/new.ts';
import { compact, dictOf, isDict, listOf, numberOf, textOf, type Dict } from '#lib/base/values.ts';
import { newId } from '#lib/base/ids.ts';
import type { Id, Message, Role } from '#lib/types/conversation.ts';
import { fileOf, textFile } from './attachments.ts';
import type { Format } from './formats.ts';
import { idOf, numbered, orderedBy, type Reading } from './reading.ts';

const roles: readonly Role[] = ['system', 'user', 'assistant', 'tool'];

export const openWebui: Format = {
  is: (item) => hasMessages(dictOf(item.chat)) || hasMessages(item),
  async read(file, item, reading) {
    // A chat by itself, or with what the server knows of it.
    const chat = hasMessages(dictOf(item.chat)) ? dictOf(item.chat) : item;
    const name = textOf(item.title) ?? textOf(chat.title) ?? '';
    const id = idOf(item.id) ?? idOf(chat.id) ?? newId();
    const history = dictOf(chat.history);
    const conversation = newConversation(
      compact({
        id,
        name,
        lastModified: msOf(item.updated_at) ?? msOf(chat.timestamp) ?? msOf(item.created_at),
        currNode: idOf(history.currentId) ?? '',
        pinned: item.pinned === true,
        model: textOf(listOf(chat.models)[0]),
      }),
    );
    const root = newMessage({ id: `root:${id}`, convId: id, parent: null, order: 0, role: 'root', timestamp: 0 });
    const messages = [root];
    const children = new Map<Id, readonly unknown[]>();
    let last = root.id;
    for (const [key, value] of entriesOf(chat)) {
      if (!isDict(value)) {
        reading.problems.add(`The entry “${key ?? messages.length}” is no object.`);
        continue;
      }
      const own = key ?? idOf(value.id) ?? newId();
      const parent = key === undefined ? last : (idOf(value.parentId) ?? root.id);
      children.set(own, listOf(value.childrenIds));
      messages.push(await messageOf(value, { id: own, convId: id, parent, order: 0 }, reading));
      last = own;
    }
    const system = textOf(chat.system) ?? textOf(dictOf(chat.params).system);
    const all = system ? withSystem(messages, system) : messages;
    return {
      name,
      imported: reading.settle(
        file,
        conversation,
        orderedBy(numbered(all), (each) => children.get(each) ?? []),
      ),
    };
  },
};

function hasMessages(chat: Dict): boolean {
  return (
    isDict(dictOf(chat.history).messages) ||
    (Array.isArray(chat.messages) && chat.conv === undefined && chat.mapping === undefined)
  );
}

// Of a list, no keys: each follows the one before.
function entriesOf(chat: Dict): [Id | undefined, unknown][] {
  const history = dictOf(chat.history).messages;
  if (isDict(history)) return Object.entries(history);
  return listOf(chat.messages).map((each) => [undefined, each]);
}

async function messageOf(
  value: Dict,
  place: Pick<Message, 'id' | 'convId' | 'parent' | 'order'>,
  reading: Reading,
): Promise<Message> {
  const { content, thought, seconds } = withoutThought(textOf(value.content) ?? '');
  const message: Message = newMessage({
    ...place,
    ...compact({
      role: roles.includes(value.role as Role) ? (value.role as Role) : 'system',
      content,
      thought,
      thoughtMs: seconds === undefined ? undefined : seconds * 1000,
      model: textOf(value.model),
      timestamp: msOf(value.timestamp) ?? 0,
    }),
  });
  const error = textOf(dictOf(value.error).content) ?? textOf(value.error);
  if (error !== undefined) {
    message.status = 'failed';
    message.error = { kind: 'engine', message: error };
  }
  for (const each of listOf(value.files).map(dictOf)) {
    const inner = dictOf(each.file);
    const name = textOf(each.name) ?? textOf(inner.filename) ?? '';
    const text = textOf(dictOf(inner.data).content) ?? textOf(each.content);
    const blob = blobOfDataUrl(textOf(each.url) ?? '');
    const file = blob
      ? await fileOf(blob, name, blob.type, reading)
      : text !== undefined
        ? await textFile(text, name, reading)
        : undefined;
    if (file) message.files.push(file);
    else reading.problems.add(`The file “${name}” is not in the export.`);
  }
  return message;
}

// Thinking stands in the content: <details type="reasoning" done="true" duration="3"><summary>...</summary>, lines
// quoted with "> ".
function withoutThought(content: string): { content: string; thought?: string; seconds?: number } {
  const end = '</details>';
  const thoughts: string[] = [];
  let seconds: number | undefined;
  let rest = '';
  let at = 0;
  for (;;) {
    const start = content.indexOf('<details type="reasoning"', at);
    const head = start < 0 ? -1 : content.indexOf('>', start);
    if (head < 0) break;
    const stop = content.indexOf(end, head);
    rest += content.slice(at, start);
    at = stop < 0 ? content.length : stop + end.length;
    const duration = /\bduration="(\d+)"/.exec(content.slice(start, head))?.[1];
    if (duration !== undefined) seconds = (seconds ?? 0) + Number(duration);
    const summary = '</summary>';
    const inner = content.slice(head + 1, stop < 0 ? content.length : stop);
    const body = inner.includes(summary) ? inner.slice(inner.indexOf(summary) + summary.length) : inner;
    thoughts.push(body.replace(/^(&gt;|>) ?/gm, '').trim());
  }
  if (thoughts.length === 0) return { content };
  const out = { content: (rest + content.slice(at)).trim(), thought: thoughts.join('\n\n') };
  return seconds === undefined ? out : { ...out, seconds };
}

function withSystem(messages: readonly Message[], content: string): Message[] {
  const root = messages[0]!;
  const system = newMessage({
    id: `system:${root.convId}`,
    convId: root.convId,
    parent: root.id,
    order: 0,
    role: 'system',
    content,
    timestamp: 0,
  });
  const below = messages
    .slice(1)
    .map((message) => (message.parent === root.id ? { ...message, parent: system.id } : message));
  return [root, system, ...below];
}

// Seconds, in some versions milliseconds.
function msOf(time: unknown): number | undefined {
  const number = numberOf(time);
  return number === undefined ? undefined : Math.round(number < 1e11 ? number * 1000 : number);
}
