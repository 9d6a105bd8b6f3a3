// What a server with --web-store keeps for the devices of one key (docs/web.md): rows of tables whose members each have
// the time at which they were changed. Times are milliseconds since 1970, as a device's clock has them.
import type { Dict } from '#lib/base/values.ts';

export interface WebChange {
  table: string;
  id: string;
  time: number;
  value?: Dict;
  // Members that are gone.
  without?: string[];
  // `value` has all members: this alone brings a row back that was removed before.
  whole?: true;
  removed?: true;
}

export type WebRow =
  // A member that has a time and no value is gone.
  | { table: string; id: string; value: Dict; times: Record<string, number> }
  | { table: string; id: string; removed: number };

export interface WebRows {
  // Names the file and the key's share of it. Of another one the revisions mean something else.
  store: string;
  // Of the last row given.
  revision: number;
  // There are further rows behind it.
  more: boolean;
  // In the order of their last change.
  changes: WebRow[];
}

export interface WebStore {
  // Rows that were changed behind a revision, as they are now. Errors of all: WebStoreError.
  rows(after: number): Promise<WebRows>;
  // All of them or none.
  change(changes: readonly WebChange[]): Promise<void>;
  hasFile(sha256: string): Promise<boolean>;
  // Undefined: it is not there.
  file(sha256: string): Promise<Blob | undefined>;
  keepFile(bytes: Blob): Promise<void>;
}

export type WebStoreTrouble =
  // The server was started without --web-store.
  | 'off'
  // What answers at this address knows nothing of it: no server, or one of another version.
  | 'none'
  // It wants a key, or another one.
  | 'key'
  // It does not answer.
  | 'away'
  // More than the server takes at once.
  | 'large'
  // It finds something wrong with what was sent.
  | 'refused'
  // It failed itself.
  | 'failed';

export class WebStoreError extends Error {
  constructor(
    readonly trouble: WebStoreTrouble,
    // Of the server, in its words.
    message: string,
  ) {
    super(message);
    this.name = 'WebStoreError';
  }
}
