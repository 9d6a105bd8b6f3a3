// The messages of a branch as a model is given them.
import { base64OfBlob, dataUrlOfBlob } from '../../base/base64.ts';
import type { FileRef, Message } from '../../types/conversation.ts';
import type { ChatMessage, ChatPart } from '../../types/engine.ts';

export type GetFile = (sha256: string) => Promise<Blob | undefined>;

// `branch`: from the first message down to the last that the model sees, without the root. Errors: a file whose bytes
// are gone.
export async function promptOf(branch: readonly Message[], getFile: GetFile): Promise<ChatMessage[]> {
  const lastQuestion = branch.findLastIndex((message) => message.role === 'user');
  const messages: ChatMessage[] = [];
  for (const [i, message] of branch.entries()) {
    const { role } = message;
    if (role === 'root' || isEmpty(message)) continue;
    const out: ChatMessage = { role, content: await contentOf(message, getFile) };
    // Templates leave earlier thinking out, but what belongs to the answer under way goes on.
    if (message.thought && i > lastQuestion) out.reasoning_content = message.thought;
    if (message.toolCalls?.length && isAnswered(message, branch.slice(i + 1))) out.tool_calls = message.toolCalls;
    if (message.toolCallId !== undefined) out.tool_call_id = message.toolCallId;
    messages.push(out);
  }
  return messages;
}

// An answer of which nothing came, and a system message without words, say nothing to a model.
function isEmpty({ role, content, thought, toolCalls, files }: Message): boolean {
  if (role !== 'assistant' && role !== 'system') return false;
  return content === '' && !thought && !toolCalls?.length && files.length === 0;
}

// Calls without results, as after a stop, are left out: templates expect both.
function isAnswered({ toolCalls = [] }: Message, later: readonly Message[]): boolean {
  return toolCalls.every((call) => later.some((message) => message.toolCallId === call.id));
}

// Of one message. Pictures and sounds stand before the words about them, as most models were trained.
export async function contentOf(
  { content, files }: Pick<Message, 'content' | 'files'>,
  getFile: GetFile,
): Promise<string | ChatPart[]> {
  const texts = files.filter((file) => isText(file)).map(textOf);
  const text = [...texts, content].filter((part) => part !== '').join('\n\n');
  const others = files.filter((file) => !isText(file));
  if (others.length === 0) return text;
  const parts: ChatPart[] = [];
  for (const file of others) parts.push(...(await partsOf(file, getFile)));
  return text === '' ? parts : [...parts, { type: 'text', text }];
}

function isText({ kind, pages }: FileRef): boolean {
  return kind === 'text' || (kind === 'pdf' && !pages?.length);
}

// Fenced with more backticks than stand anywhere in it.
function textOf({ name, text = '' }: FileRef): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `File ${JSON.stringify(name)}:\n${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

const formats: readonly [RegExp, string][] = [
  [/wav/, 'wav'],
  [/flac/, 'flac'],
  [/ogg|vorbis/, 'ogg'],
];

async function partsOf(file: FileRef, getFile: GetFile): Promise<ChatPart[]> {
  const bytes = async (sha256: string) => {
    const blob = await getFile(sha256);
    if (!blob) throw new Error(`The bytes of the file "${file.name}" are no longer there.`);
    return blob;
  };
  if (file.kind === 'audio') {
    const format = formats.find(([type]) => type.test(file.type))?.[1] ?? 'mp3';
    return [{ type: 'input_audio', input_audio: { data: await base64OfBlob(await bytes(file.sha256)), format } }];
  }
  if (file.kind !== 'image' && file.kind !== 'pdf')
    throw new Error(`The file "${file.name}" cannot be shown to a model.`);
  const images = file.kind === 'pdf' ? (file.pages ?? []) : [file.sha256];
  return Promise.all(
    images.map(async (sha256): Promise<ChatPart> => {
      return { type: 'image_url', image_url: { url: await dataUrlOfBlob(await bytes(sha256)) } };
    }),
  );
}
