// Conversations and messages as llama-server's page has them: in exports, and in its database. Our words that it has
// not are in a key `puna`; its words that we have not are kept and given back.
import {
  compact,
  deeperThan,
  dictOf,
  equal,
  isDict,
  listOf,
  numberOf,
  restOf,
  textOf,
  type Dict,
} from '#lib/base/values.ts';
import { newId } from '#lib/base/ids.ts';
import { misfit, parameterNamed } from '#lib/conversations/parameters.ts';
import type { Conversation, Fault, Id, Message, Role, Status, Timings, ToolCall } from '#lib/types/conversation.ts';
import { extraOfFile, fileOfExtra, type FileOf } from './llama_files.ts';
import { idOf, numbered, orderedBy, type Reading } from './reading.ts';

// Deeper values overflow the stacks of those that copy them.
const deepest = 100;
const roles: readonly Role[] = ['system', 'user', 'assistant', 'tool'];
const statuses: readonly Status[] = ['done', 'stopped', 'cut', 'failed'];
// `jsonl`: of exports. `database`: calls of tools are a text there.
export type Form = 'jsonl' | 'database';

// --- Conversations

// `record`: without the keys that say what it is.
export function conversationOfRecord(record: Dict, reading: Reading): Conversation {
  const own = dictOf(record.puna);
  const forked = dictOf(own.forkedFrom);
  const settings = settingsOf(own, record, reading);
  const conversation: Conversation = compact({
    id: idOf(record.id) ?? newId(),
    name: textOf(record.name) ?? '',
    lastModified: numberOf(record.lastModified) ?? Date.now(),
    currNode: idOf(record.currNode) ?? '',
    pinned: record.pinned === true,
    model: textOf(own.model),
    runsOn: own.runsOn === 'server' || own.runsOn === 'tab' ? (own.runsOn as 'server' | 'tab') : undefined,
    preset: idOf(own.preset),
    settings: Object.keys(settings).length > 0 ? settings : undefined,
    forkedFrom:
      idOf(forked.convId) && idOf(forked.messageId)
        ? { convId: forked.convId as Id, messageId: forked.messageId as Id }
        : undefined,
  });
  const unknown = unsaid(record, recordOfConversation(conversation), ['id', 'currNode', 'puna'], reading);
  if (unknown) conversation.unknown = unknown;
  return conversation;
}

export function recordOfConversation(conversation: Conversation): Dict {
  const { id, name, lastModified, currNode, pinned, model, runsOn, preset, settings, forkedFrom, unknown } =
    conversation;
  return compact({
    id,
    name,
    lastModified,
    currNode,
    pinned: pinned ? true : undefined,
    thinkingEnabled: settings?.enable_thinking,
    reasoningEffort: settings?.reasoning_effort,
    forkedFromConversationId: forkedFrom?.convId,
    ...unknown,
    puna: orNothing({ model, runsOn, preset, settings, forkedFrom }),
  });
}

// Parameters from a file may be anything.
function settingsOf(own: Dict, record: Dict, reading: Reading): Dict {
  const said = isDict(own.settings)
    ? own.settings
    : compact({ enable_thinking: record.thinkingEnabled, reasoning_effort: record.reasoningEffort });
  const entries = Object.entries(said).filter(([name, value]) => {
    const parameter = parameterNamed(name);
    const fits = parameter !== undefined && misfit(parameter, value) === null && !deeperThan(value, deepest);
    if (!fits)
      reading.problems.add(`The parameter “${name}” is unknown or has a value it cannot have; it is left out.`);
    return fits;
  });
  return Object.fromEntries(entries);
}

// --- Messages

// As they stand in the file; `reading.settle` makes a tree of them.
export async function messagesOfRecords(records: readonly unknown[], convId: Id, reading: Reading): Promise<Message[]> {
  const out: Message[] = [];
  const children = new Map<Id, unknown[]>();
  let isOurs = true;
  for (const record of records) {
    if (!isDict(record)) {
      reading.problems.add('A message is no object.');
      continue;
    }
    const message = await messageOfRecord(record, convId, reading);
    children.set(message.id, listOf(record.children));
    out.push(message);
    isOurs &&= numberOf(dictOf(record.puna).order) !== undefined;
  }
  return isOurs ? out : orderedBy(numbered(out), (id) => children.get(id) ?? []);
}

async function messageOfRecord(record: Dict, convId: Id, reading: Reading): Promise<Message> {
  const own = dictOf(record.puna);
  const status = statuses.includes(own.status as Status) ? (own.status as Status) : 'done';
  const message: Message = compact({
    id: idOf(record.id) ?? newId(),
    convId,
    parent: idOf(record.parent) ?? null,
    order: numberOf(own.order) ?? 0,
    role: roleOf(record),
    content: textOf(record.content) ?? textOfParts(record.content),
    thought: (textOf(record.reasoningContent) ?? textOf(record.thinking)) || undefined,
    thoughtMs: numberOf(own.thoughtMs),
    toolCalls: toolCallsOf(record.toolCalls),
    toolCallId: textOf(record.toolCallId),
    files: [],
    model: textOf(record.model),
    status,
    error: faultOf(own.error),
    timings: timingsOf(record.timings, own.firstTokenMs),
    timestamp: numberOf(record.timestamp) ?? numberOf(Date.parse(textOf(record.timestamp) ?? '')) ?? Date.now(),
  });
  const kept: [number, unknown][] = [];
  for (const [i, extra] of listOf(record.extra).entries()) {
    const file = await fileOfExtra(extra, reading);
    if (file) message.files.push(file);
    else kept.push([i, extra]);
  }
  const said = { ...recordOf(message), toolCalls: recordOfCalls(message.toolCalls), model: message.model ?? null };
  const heard = { ...record, toolCalls: parsedCalls(record.toolCalls), model: record.model ?? null };
  const unknown = unsaid(heard, said, ['id', 'convId', 'parent', 'timestamp', 'children', 'extra', 'puna'], reading);
  if (unknown) message.unknown = unknown;
  if (kept.length > 0 && !deeperThan(kept, deepest)) message.unknown = { ...message.unknown, extra: kept };
  return message;
}

export async function recordOfMessage(
  message: Message,
  children: readonly Id[],
  fileOf: FileOf,
  form: Form,
): Promise<Dict> {
  const { extra: kept, toolCalls, ...unknown } = message.unknown ?? {};
  const extra: unknown[] = [];
  for (const file of message.files) extra.push(await extraOfFile(file, fileOf));
  // At their old places, which come in order.
  for (const pair of listOf(kept)) if (Array.isArray(pair)) extra.splice(Number(pair[0]), 0, pair[1]);
  const calls = toolCalls ?? recordOfCalls(message.toolCalls);
  const { order, status, thoughtMs, error, timings } = message;
  return compact({
    ...recordOf(message),
    toolCalls: form === 'database' && calls !== undefined ? JSON.stringify(calls) : calls,
    ...unknown,
    children,
    extra: extra.length > 0 ? extra : undefined,
    puna: compact({
      order,
      // Who reads this does not go on writing it.
      status: status === 'writing' ? 'cut' : status === 'done' ? undefined : status,
      thoughtMs,
      error,
      firstTokenMs: timings?.firstTokenMs || undefined,
    }),
  });
}

// But for children, files, calls of tools and what is ours.
function recordOf(message: Message): Dict {
  const { id, convId, parent, role, content, thought, toolCallId, model, timings, timestamp } = message;
  const isRoot = role === 'root';
  return compact({
    id,
    convId,
    type: isRoot ? 'root' : role === 'system' ? 'system' : 'text',
    timestamp,
    role: isRoot ? 'system' : role,
    content,
    parent,
    reasoningContent: thought,
    toolCallId,
    timings: timings && recordOfTimings(timings),
    model,
  });
}

function roleOf(record: Dict): Role {
  if (record.type === 'root') return 'root';
  if (record.role === 'developer') return 'system';
  return roles.includes(record.role as Role) ? (record.role as Role) : 'system';
}

// Content of several parts, as some programs have it: their texts.
function textOfParts(content: unknown): string {
  const texts = listOf(content).map((part) => textOf(part) ?? textOf(dictOf(part).text));
  return texts.filter((text) => text !== undefined).join('\n');
}

// --- Calls of tools

function parsedCalls(value: unknown): unknown {
  if (value === '' || value === null) return undefined;
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function toolCallsOf(value: unknown): ToolCall[] | undefined {
  const calls = listOf(parsedCalls(value)).flatMap((each) => {
    const { id, function: of } = dictOf(each);
    const { name, arguments: given } = dictOf(of);
    if (textOf(name) === undefined) return [];
    return [{ id: textOf(id) ?? '', name: name as string, arguments: textOf(given) ?? JSON.stringify(given ?? {}) }];
  });
  return calls.length > 0 ? calls : undefined;
}

function recordOfCalls(calls: readonly ToolCall[] | undefined): Dict[] | undefined {
  return calls?.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  }));
}

// --- Timings

function timingsOf(value: unknown, firstTokenMs: unknown): Timings | undefined {
  if (!isDict(value)) return undefined;
  const number = (key: string) => numberOf(value[key]) ?? 0;
  return {
    promptTokens: number('prompt_n') + number('cache_n'),
    cachedTokens: number('cache_n'),
    promptMs: number('prompt_ms'),
    answerTokens: number('predicted_n'),
    answerMs: number('predicted_ms'),
    firstTokenMs: numberOf(firstTokenMs) ?? 0,
  };
}

// llama-server counts the tokens that it read, we those of the prompt.
function recordOfTimings({ promptTokens, cachedTokens, promptMs, answerTokens, answerMs }: Timings): Dict {
  return {
    cache_n: cachedTokens,
    prompt_n: promptTokens - cachedTokens,
    prompt_ms: promptMs,
    predicted_n: answerTokens,
    predicted_ms: answerMs,
  };
}

function faultOf(value: unknown): Fault | undefined {
  const { kind, message, promptTokens, contextTokens } = dictOf(value);
  if (textOf(kind) === undefined || textOf(message) === undefined) return undefined;
  return compact({
    kind: kind as Fault['kind'],
    message: message as string,
    promptTokens: numberOf(promptTokens),
    contextTokens: numberOf(contextTokens),
  });
}

// --- What there is in a record that our words do not say

function unsaid(record: Dict, said: Dict, known: readonly string[], reading: Reading): Dict | undefined {
  const same = Object.keys(record).filter((key) => {
    if (known.includes(key) || equal(record[key], said[key])) return true;
    if (!deeperThan(record[key], deepest)) return false;
    reading.problems.add(`What is in “${key}” lies within each other more than ${deepest} deep; it is left out.`);
    return true;
  });
  return restOf(record, same);
}

function orNothing(dict: Dict): Dict | undefined {
  const out = compact(dict);
  return Object.keys(out).length > 0 ? out : undefined;
}
