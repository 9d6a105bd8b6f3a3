// Files on their way into a draft: read one after the other, refused with a reason where the model cannot take them.
import { largest, readFile, Refused } from '#lib/attachments/read.ts';
import { mostPages } from '#lib/attachments/limits.ts';
import { say, size } from '#lib/messages/index.svelte.ts';
import { models } from '#lib/stores/models.svelte.ts';
import type { OpenDraft } from '#lib/stores/drafts.svelte.ts';
import type { FileRef } from '#lib/types/conversation.ts';
import type { ModelInfo } from '#lib/types/engine.ts';
import { modelLabel } from '../models/names.ts';

// What of these files the model cannot take, as a sentence that names models which can.
export function lacking(model: ModelInfo | undefined, files: readonly FileRef[]): string {
  if (!model) return '';
  const parts: string[] = [];
  for (const [kind, able] of [['image', 'images'], ['audio', 'audio']] as const) {
    if (model[able] || !files.some((file) => file.kind === kind)) continue;
    const others = [...new Set(models.list.filter((one) => one[able]).map(modelLabel))];
    parts.push(say.refuse[kind](modelLabel(model)), others.length ? say.refuse.tryModel(others.slice(0, 4).join(', ')) : say.refuse.none);
  }
  return parts.join(' ');
}

export class Incoming {
  reading = $state.raw<string[]>([]);
  problems = $state.raw<string[]>([]);

  async take(files: readonly File[], draft: OpenDraft) {
    this.problems = [];
    for (const file of files) {
      this.reading = [...this.reading, file.name];
      try {
        const { ref, pagesLeftOut } = await readFile(file);
        if (!draft.files.some((one) => one.sha256 === ref.sha256)) draft.files = [...draft.files, ref];
        if (pagesLeftOut) this.problems = [...this.problems, say.refuse.pages(file.name, mostPages)];
      } catch (error) {
        this.problems = [...this.problems, this.#why(error, file.name)];
      } finally {
        const at = this.reading.indexOf(file.name);
        this.reading = this.reading.filter((_, i) => i !== at);
      }
    }
  }

  #why(error: unknown, name: string): string {
    if (!(error instanceof Refused)) return say.refuse.broken(name);
    return error.reason === 'large' ? say.refuse.large(name, size(largest.text)) : say.refuse[error.reason](name);
  }
}
