// Files of conversations. Formats are told by content, never by name.
import type { Conversation, Message } from '#lib/types/conversation.ts';

export interface Imported {
  conversation: Conversation;
  // A whole tree: one root, every parent there.
  messages: Message[];
  // Bytes of its files by SHA-256.
  files: Map<string, Blob>;
}

export interface Problem {
  file: string;
  // Sentences.
  why: string;
}

export interface Exported {
  conversation: Conversation;
  messages: readonly Message[];
}

export type ExportFormat = 'llama' | 'llama-zip' | 'llama-json' | 'markdown';

export async function readFiles(files: readonly File[]): Promise<{ conversations: Imported[]; problems: Problem[] }> {
  throw new Error(`not yet ${files}`);
}

// `fileOf` gives the bytes of a file by its SHA-256.
export async function write(
  conversations: readonly Exported[],
  format: ExportFormat,
  fileOf: (sha256: string) => Promise<Blob | undefined>,
): Promise<Blob> {
  throw new Error(`not yet ${conversations} ${format} ${fileOf}`);
}
