// What is typed and not sent, of every chat and every open edit.
import type { FileRef } from '#lib/types/conversation.ts';

export interface OpenDraft {
  text: string;
  // Put a new array here: a push is not seen.
  files: readonly FileRef[];
  // False until what was saved is read; typing before that is kept.
  readonly ready: boolean;
}

class Drafts {
  // `id`: of the conversation, `new`, or `edit:<messageId>`. The same object for all who ask.
  of(id: string): OpenDraft {
    throw new Error(`not yet ${id}`);
  }
  clear(id: string): void {
    throw new Error(`not yet ${id}`);
  }
}

export const drafts = new Drafts();
