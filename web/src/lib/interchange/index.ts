// Files of conversations, in and out. Formats are told by content, never by name; what cannot be read is named, the
// rest is taken.
import { isDict } from '#lib/base/values.ts';
import type { Conversation, Message } from '#lib/types/conversation.ts';
import { formats } from './formats.ts';
import type { FileOf } from './llama_files.ts';
import { writeJson } from './llama_json.ts';
import { isRecord, readJsonl, writeJsonl } from './llama_jsonl.ts';
import { writeMarkdown } from './markdown.ts';
import { Reading, type Imported, type Problem } from './reading.ts';
import { jsonLinesOf, linesOf, mostCharacters, parsed, salvaged, textOfFile } from './text.ts';
import { entriesOf, isZip, zipOf, type Entry } from './zip.ts';

export type { Imported, Problem } from './reading.ts';

export interface Exported {
  conversation: Conversation;
  messages: readonly Message[];
}

export type ExportFormat = 'llama' | 'llama-zip' | 'llama-json' | 'markdown';

const entryBytes = 1 << 30;

export interface ReadFiles {
  conversations: Imported[];
  problems: Problem[];
}

export async function readFiles(files: readonly File[]): Promise<ReadFiles> {
  const out: ReadFiles = { conversations: [], problems: [] };
  for (const file of files) {
    try {
      const { conversations, problems } = await readFile(file.name, file);
      out.conversations.push(...conversations);
      out.problems.push(...problems);
      if (conversations.length === 0 && problems.length === 0) {
        out.problems.push({ file: file.name, why: 'It has no conversations.' });
      }
    } catch (error) {
      out.problems.push({ file: file.name, why: `It cannot be read: ${sentence(error)}` });
    }
  }
  return out;
}

async function readFile(name: string, file: Blob): Promise<ReadFiles> {
  if (file.size === 0) return { conversations: [], problems: [{ file: name, why: 'It is empty.' }] };
  return (await isZip(file)) ? readArchive(name, file) : readText(name, file, new Reading().beside);
}

async function readArchive(name: string, archive: Blob): Promise<ReadFiles> {
  const entries = await entriesOf(archive);
  const out: ReadFiles = { conversations: [], problems: [] };
  const beside = async (part: string) => {
    const entry = entries.find((each) => each.name.slice(each.name.lastIndexOf('/') + 1).startsWith(part));
    return entry?.read(entryBytes).catch(() => undefined);
  };
  for (const entry of entries) {
    const file = `${name}: ${entry.name}`;
    try {
      const text = await jsonOf(entry);
      if (!text) continue;
      const { conversations, problems } = await readText(file, text, beside, 'archive');
      out.conversations.push(...conversations);
      out.problems.push(...problems);
    } catch (error) {
      out.problems.push({ file, why: sentence(error) });
    }
  }
  return out;
}

// Undefined for entries that are something else: images, pages.
async function jsonOf(entry: Entry): Promise<Blob | undefined> {
  const blob = await entry.read(entryBytes);
  const head = (await textOfFile(blob.slice(0, 256))).trimStart();
  return head.startsWith('{') || head.startsWith('[') ? blob : undefined;
}

// `within` an archive there may be files of other kinds, which are passed over.
async function readText(
  file: string,
  blob: Blob,
  beside: Reading['beside'],
  within: 'archive' | 'alone' = 'alone',
): Promise<ReadFiles> {
  for await (const { text } of linesOf(blob)) {
    if (isRecord(parsed(text))) return readJsonl(file, jsonLinesOf(blob));
    break;
  }
  if (blob.size > mostCharacters) {
    throw new Error(`It has ${blob.size} bytes, but at most ${mostCharacters} can be read of a JSON document.`);
  }
  const text = await textOfFile(blob);
  const document = parsed(text);
  if (document !== undefined) return readItems(file, Array.isArray(document) ? document : [document], beside, within);

  // Damaged: lines of JSON whose first is none, or a document that ends too early.
  for await (const { value } of jsonLinesOf(blob)) if (isRecord(value)) return readJsonl(file, jsonLinesOf(blob));
  const { items, lost } = salvaged(text);
  const out = await readItems(file, items, beside, 'archive');
  if (out.conversations.length === 0) {
    out.problems.unshift({
      file,
      why: 'It is no file of conversations that is known, or it is damaged: no JSON can be read of it.',
    });
  } else {
    const left = lost > 0 ? ` ${lost === 1 ? 'One part is' : `${lost} parts are`} left out.` : '';
    out.problems.unshift({ file, why: `It is damaged or not whole; what can be read of it is taken.${left}` });
  }
  return out;
}

async function readItems(
  file: string,
  items: readonly unknown[],
  beside: Reading['beside'],
  within: 'archive' | 'alone',
): Promise<ReadFiles> {
  const out: ReadFiles = { conversations: [], problems: [] };
  let others = 0;
  for (const item of items) {
    const format = isDict(item) ? formats.find((each) => each.is(item)) : undefined;
    if (!format) {
      ++others;
      continue;
    }
    const reading = new Reading(beside);
    const { name, imported } = await format.read(file, item as Record<string, unknown>, reading);
    if (imported) out.conversations.push(imported);
    out.problems.push(...reading.told(file, name));
  }
  if (others > 0 && (within === 'alone' || others < items.length)) {
    const all = items.length === 1 ? 'It is' : `${others} of ${items.length} entries are`;
    out.problems.push({ file, why: `${all} no conversation of a format that is known.` });
  }
  return out;
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// `fileOf` gives the bytes of a file by its SHA-256.
export async function write(conversations: readonly Exported[], format: ExportFormat, fileOf: FileOf): Promise<Blob> {
  switch (format) {
    case 'llama': {
      const lines: string[] = [];
      for (const each of conversations) for await (const line of writeJsonl(each, fileOf)) lines.push(line);
      return new Blob(lines, { type: 'application/jsonl' });
    }
    case 'llama-zip':
      return zipOf(archived(conversations, fileOf));
    case 'llama-json': {
      const documents = [];
      for (const each of conversations) documents.push(await writeJson(each, fileOf));
      return new Blob([JSON.stringify(documents)], { type: 'application/json' });
    }
    case 'markdown':
      return new Blob([conversations.map(writeMarkdown).join('\n---\n\n')], { type: 'text/markdown' });
  }
}

async function* archived(conversations: readonly Exported[], fileOf: FileOf): AsyncGenerator<[string, string]> {
  const taken = new Set<string>();
  for (const each of conversations) {
    const lines: string[] = [];
    for await (const line of writeJsonl(each, fileOf)) lines.push(line);
    const { name, id } = each.conversation;
    let file = `${slug(name)}_${slug(id).slice(0, 8)}`;
    while (taken.has(file)) file += '_';
    taken.add(file);
    yield [`${file}.jsonl`, lines.join('')];
  }
}

const endings: Record<ExportFormat, string> = {
  llama: 'jsonl',
  'llama-zip': 'zip',
  'llama-json': 'json',
  markdown: 'md',
};

// For the file that is saved.
export function fileName(conversations: readonly Exported[], format: ExportFormat, now = new Date()): string {
  const [one] = conversations;
  const what = one && conversations.length === 1 ? slug(one.conversation.name) : 'conversations';
  return `${what}_${now.toISOString().slice(0, 10)}.${endings[format]}`;
}

function slug(text: string): string {
  const kept = text.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '');
  return [...kept].slice(0, 40).join('') || 'conversation';
}
