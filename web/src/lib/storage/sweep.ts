// Removes files that no message and no draft refers to. A deletion can be undone and a file is put before the draft
// that has it is saved, so a file goes when it was without use in two sweeps far enough apart.
import type { FileRef } from '#lib/types/conversation.ts';
import type { Storage } from './storage.ts';

const unusedMs = 24 * 3600 * 1000;

// Gives how many went.
export async function sweepFiles(storage: Storage, now = Date.now()): Promise<number> {
  const used = new Set<string>();
  const note = (files: readonly FileRef[]) => {
    for (const file of files) for (const sha256 of [file.sha256, ...(file.pages ?? [])]) used.add(sha256);
  };
  for await (const messages of storage.slices('messages')) for (const message of messages) note(message.files);
  for (const draft of await storage.all('drafts')) note(draft.files);
  // Without a working database nothing is known to be unused.
  if (storage.trouble !== null && storage.trouble !== 'full') return 0;
  const gone: string[] = [];
  for await (const files of storage.slices('files')) {
    for (const { sha256, unusedSince } of files) {
      if (used.has(sha256) !== (unusedSince !== undefined)) {
        if (unusedSince !== undefined && now - unusedSince >= unusedMs) gone.push(sha256);
        continue;
      }
      const patch = { unusedSince: used.has(sha256) ? undefined : now };
      await storage.commit([{ table: 'files', key: sha256, patch }]);
    }
  }
  if (gone.length > 0) await storage.commit([{ table: 'files', remove: gone }]);
  return gone.length;
}
