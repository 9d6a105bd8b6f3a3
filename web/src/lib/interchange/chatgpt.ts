// ChatGPT's export, conversations*.json: mapping{id: {parent, children, message{author.role, content}}}, current_node.
// Many nodes are not shown (hidden system messages, recaps); those below them go to the next one above that is.
import { newConversation, newMessage } from '#lib/conversations/new.ts';
import { compact, dictOf, isDict, listOf, numberOf, textOf, type Dict } from '#lib/base/values.ts';
import { newId } from '#lib/base/ids.ts';
import type { Id, Message } from '#lib/types/conversation.ts';
import { fileOf } from './attachments.ts';
import type { Format } from './formats.ts';
import { idOf, numbered, orderedBy, type Reading } from './reading.ts';

interface Node {
  id: Id;
  parent: unknown;
  children: readonly unknown[];
  message: Dict;
  // What it says; undefined: it is not shown.
  shown: Partial<Message> | undefined;
}

export const chatgpt: Format = {
  is: (item) => isDict(item.mapping),
  async read(file, item, reading) {
    const name = textOf(item.title) ?? '';
    const id = idOf(item.conversation_id) ?? idOf(item.id) ?? newId();
    const conversation = newConversation(
      compact({ id, name, lastModified: msOf(item.update_time) ?? msOf(item.create_time), currNode: '' }),
    );
    const nodes = new Map<Id, Node>();
    for (const [key, value] of Object.entries(dictOf(item.mapping))) {
      if (!isDict(value)) reading.problems.add(`The entry “${key}” is no object.`);
      else nodes.set(key, await nodeOf(key, value, reading));
    }
    const root = newMessage({ id: `root:${id}`, convId: id, parent: null, order: 0, role: 'root', timestamp: 0 });
    const messages = [root];
    for (const node of nodes.values()) {
      if (!node.shown) continue;
      const { above, thought, thoughtMs } = climb(node, nodes);
      messages.push(
        newMessage({
          role: 'assistant',
          ...node.shown,
          ...compact({ thought: node.shown.role === 'assistant' ? thought : undefined, thoughtMs }),
          id: node.id,
          convId: id,
          parent: above ?? root.id,
          order: 0,
        }),
      );
    }
    const current = nodes.get(textOf(item.current_node) ?? '');
    if (current) conversation.currNode = current.shown ? current.id : (climb(current, nodes).above ?? '');
    const ordered = orderedBy(numbered(messages), (each) => nodes.get(each)?.children ?? []);
    return { name, imported: reading.settle(file, conversation, ordered) };
  },
};

async function nodeOf(id: Id, node: Dict, reading: Reading): Promise<Node> {
  const message = dictOf(node.message);
  return {
    id,
    parent: node.parent,
    children: listOf(node.children),
    message,
    shown: await shownOf(id, message, node, reading),
  };
}

async function shownOf(id: Id, message: Dict, node: Dict, reading: Reading): Promise<Partial<Message> | undefined> {
  const metadata = dictOf(message.metadata);
  const content = dictOf(message.content);
  const role = textOf(dictOf(message.author).role);
  const isNote = ['thoughts', 'reasoning_recap', 'model_editable_context', 'user_editable_context'].includes(
    String(content.content_type),
  );
  if (isNote || metadata.is_visually_hidden_from_conversation === true) return undefined;
  const timestamp = msOf(message.create_time) ?? 0;
  const text = textOfContent(content);
  const recipient = textOf(message.recipient) ?? 'all';
  if (role === 'assistant' && recipient !== 'all') {
    return { role, timestamp, content: '', toolCalls: [{ id, name: recipient, arguments: text }] };
  }
  const files = role === 'user' || role === 'tool' ? await filesOf(content, metadata, reading) : [];
  if (text === '' && files.length === 0) return undefined;
  switch (role) {
    case 'user':
      return { role, timestamp, content: text, files };
    case 'system':
      return { role, timestamp, content: text };
    case 'assistant':
      return compact({ role, timestamp, content: text, model: textOf(metadata.model_slug) });
    case 'tool':
      return compact({ role, timestamp, content: text, files, toolCallId: textOf(node.parent) });
    default:
      return undefined;
  }
}

function textOfContent(content: Dict): string {
  const parts = listOf(content.parts).map((part) => textOf(part) ?? textOf(dictOf(part).text));
  const texts = content.parts === undefined ? [textOf(content.text) ?? textOf(content.result)] : parts;
  return texts.filter((text) => text !== undefined && text !== '').join('\n\n');
}

async function filesOf(content: Dict, metadata: Dict, reading: Reading): Promise<Message['files']> {
  const attached = listOf(metadata.attachments).map(dictOf);
  const pointers = listOf(content.parts).flatMap((part) => textOf(dictOf(part).asset_pointer) ?? []);
  const ids = [
    ...pointers.map((pointer) => pointer.replace(/^.*:\/\//, '')),
    ...attached.flatMap((each) => textOf(each.id) ?? []),
  ];
  const files: Message['files'] = [];
  for (const id of new Set(ids)) {
    const said = attached.find((each) => each.id === id) ?? {};
    const name = textOf(said.name) ?? id;
    const blob = await reading.beside(id);
    const file = blob && (await fileOf(blob, name, textOf(said.mime_type) ?? textOf(said.mimeType) ?? '', reading));
    if (file) files.push(file);
    else
      reading.problems.add(
        blob
          ? `The file “${name}” is of a kind that messages do not have here.`
          : `The file “${name}” is not in the export.`,
      );
  }
  return files;
}

// The next node above that is shown, and what was thought between it and this one.
function climb(
  node: Node,
  nodes: ReadonlyMap<Id, Node>,
): { above: Id | undefined; thought?: string; thoughtMs?: number } {
  const seen = new Set([node.id]);
  const thoughts: string[] = [];
  let seconds: number | undefined;
  let parent = textOf(node.parent);
  for (; parent !== undefined && !seen.has(parent); parent = textOf(nodes.get(parent)!.parent)) {
    const above = nodes.get(parent);
    // It is missing: `settle` tells.
    if (!above || above.shown) break;
    seen.add(parent);
    const content = dictOf(above.message.content);
    thoughts.unshift(...listOf(content.thoughts).flatMap((each) => textOf(dictOf(each).content) ?? []));
    seconds ??= numberOf(dictOf(above.message.metadata).finished_duration_sec);
  }
  return compact({
    above: parent,
    thought: thoughts.filter((text) => text !== '').join('\n\n') || undefined,
    thoughtMs: seconds === undefined ? undefined : seconds * 1000,
  }) as ReturnType<typeof climb>;
}

function msOf(seconds: unknown): number | undefined {
  const number = numberOf(seconds);
  return number === undefined ? undefined : Math.round(number * 1000);
}
