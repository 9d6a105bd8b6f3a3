// What a conversation is made of, as it is stored. Messages form a tree: only `parent` is stored, children are derived,
// so no two records can disagree. A message that is done does not change; an edit is a sibling, unless the reader asks
// for none.

export type Id = string;

export type Role = 'root' | 'system' | 'user' | 'assistant' | 'tool';

// writing: a stream is under way, or was when the page went away. cut: it ended before its end and can be continued.
// stopped: the reader ended it. failed: `error` says why.
export type Status = 'writing' | 'done' | 'stopped' | 'cut' | 'failed';

export interface ToolCall {
  id: string;
  name: string;
  // JSON text, as the model wrote it.
  arguments: string;
}

// Of one answer, as the engine measured it. Times in milliseconds.
export interface Timings {
  promptTokens: number;
  // Of the prompt, those that were known and not read again.
  cachedTokens: number;
  promptMs: number;
  answerTokens: number;
  answerMs: number;
  // From sending to the first token, as the page saw it.
  firstTokenMs: number;
}

// video: imported ones are kept and given back; no model of ours watches them.
export type FileKind = 'text' | 'image' | 'pdf' | 'audio' | 'video';

// What a message shows of a file; its bytes lie once in `files`, under their SHA-256.
export interface FileRef {
  sha256: string;
  name: string;
  kind: FileKind;
  type: string; // MIME
  bytes: number;
  // What the model is given in place of the bytes: the text of a text file or of a PDF.
  text?: string;
  // Of a PDF that is given as images: its pages, each the SHA-256 of an image in `files`.
  pages?: string[];
  // Keys of an imported file that Puna does not know, given back on export.
  unknown?: Record<string, unknown>;
}

export interface Fault {
  kind: FaultKind;
  // One sentence for the reader.
  message: string;
  // For `context`: tokens of the prompt and room of the model.
  promptTokens?: number;
  contextTokens?: number;
}

export type FaultKind =
  | 'network' // the server does not answer
  | 'key' // 401, or a 403 about the key
  | 'model' // unknown, unloaded or could not be loaded
  | 'context' // the message is longer than the context
  | 'refused' // 400: what was asked cannot be done
  | 'media' // the model neither sees nor hears what is attached
  | 'busy' // 503 or 429: the queue is full
  | 'gone' // the stream's beginning is no longer kept
  | 'engine'; // the engine failed

export interface Message {
  id: Id;
  convId: Id;
  parent: Id | null; // null only for the root
  // Grows with each message of its conversation: siblings show in this order.
  order: number;
  role: Role;
  content: string;
  thought?: string;
  thoughtMs?: number;
  toolCalls?: ToolCall[];
  // For role `tool`: the call that this is the result of.
  toolCallId?: string;
  files: FileRef[];
  model?: string;
  status: Status;
  error?: Fault;
  timings?: Timings;
  // The kept stream that writes this message, and how many of its bytes are in `content` and `thought`.
  streamId?: string;
  offset?: number;
  timestamp: number;
  // Keys of an imported message that Puna does not know, given back on export.
  unknown?: Record<string, unknown>;
}

export interface Conversation {
  id: Id;
  name: string;
  lastModified: number;
  // The leaf that is shown.
  currNode: Id;
  pinned: boolean;
  model?: string;
  runsOn?: 'server' | 'tab';
  // The preset chosen for this chat; without one, that of the app's settings.
  preset?: Id;
  // Parameters of this chat alone (names of conversations/parameters.ts).
  settings?: Record<string, unknown>;
  forkedFrom?: { convId: Id; messageId: Id };
  // Keys of the imported conversation that Puna does not know, and records beside its messages: given back on export.
  unknown?: Record<string, unknown>;
  records?: unknown[];
}

// A system prompt and parameters under a name.
export interface Preset {
  id: Id;
  name: string;
  // Stands before the messages of a chat that has no system message of its own.
  system: string;
  parameters: Record<string, unknown>;
  // These come before `parameters` while the model thinks, and while it does not.
  whenThinking: Record<string, unknown>;
  whenNotThinking: Record<string, unknown>;
  lastModified: number;
}

// What is typed and not sent: one for each conversation (`new` for the one that does not exist yet) and each open edit.
export interface Draft {
  id: string; // convId, `new`, or `edit:<messageId>`
  text: string;
  files: FileRef[];
  lastModified: number;
}
