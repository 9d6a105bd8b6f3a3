// Files on their way into a draft: read one after the other, refused with a reason where the model cannot take them.
import { asPictures, asText, readFile, Refused, type ReadFile } from '#lib/attachments/read.ts';
import { sensesLacking } from '#lib/conversations/senses.ts';
import { number, say, size } from '#lib/messages/index.svelte.ts';
import { getFile } from '#lib/storage/files.ts';
import { models } from '#lib/stores/models.svelte.ts';
import type { OpenDraft } from '#lib/stores/drafts.svelte.ts';
import type { FileRef } from '#lib/types/conversation.ts';
import type { ModelInfo } from '#lib/types/engine.ts';
import { modelLabel } from '../models/names.ts';

// What of these files the model cannot take, as a sentence that names models which can. `before`: those of the chat, which are sent
// with every message.
export function lacking(model: ModelInfo | undefined, files: readonly FileRef[], before: readonly FileRef[] = []): string {
  if (!model) return '';
  const now = sensesLacking(model, files);
  const all = sensesLacking(model, [...files, ...before]);
  if (all.length === 0) return '';
  const name = modelLabel(model);
  const others = [...new Set(models.able(all).map(modelLabel))];
  return [
    ...all.map((sense) => (now.includes(sense) ? say.refuse[sense](name) : say.refuse.before[sense](name))),
    others.length ? say.refuse.tryModel(others.slice(0, 4).join(', ')) : say.refuse.none,
  ].join(' ');
}

export class Incoming {
  reading = $state.raw<string[]>([]);
  problems = $state.raw<string[]>([]);

  async take(files: readonly File[], draft: Pick<OpenDraft, 'files'>, model: ModelInfo | undefined) {
    this.problems = [];
    for (const file of files) {
      const read = await this.#read(file.name, () => readFile(file, model?.images));
      if (read && !draft.files.some((one) => one.sha256 === read.sha256)) draft.files = [...draft.files, read];
    }
  }

  // Of a PDF in the draft: pages as images in place of its text, or the other way round.
  async toggle(file: FileRef, draft: Pick<OpenDraft, 'files'>) {
    this.problems = [];
    const other = file.pages
      ? asText(file)
      : await this.#read(file.name, async () => {
          const blob = await getFile(file.sha256);
          if (!blob) throw new Refused('broken', file.name);
          return asPictures(file, new Uint8Array(await blob.arrayBuffer()));
        });
    if (other) draft.files = draft.files.map((one) => (one.sha256 === file.sha256 ? other : one));
  }

  async #read(name: string, read: () => Promise<ReadFile>): Promise<FileRef | undefined> {
    this.reading = [...this.reading, name];
    try {
      const { ref, pagesOf } = await read();
      if (pagesOf) this.problems = [...this.problems, say.refuse.pages(name, pagesOf)];
      return ref;
    } catch (error) {
      this.problems = [...this.problems, why(error, name)];
      return undefined;
    } finally {
      const at = this.reading.indexOf(name);
      this.reading = this.reading.filter((_, i) => i !== at);
    }
  }
}

function why(error: unknown, name: string): string {
  if (!(error instanceof Refused)) return say.refuse.broken(name);
  const { reason, numbers } = error;
  if (reason === 'large') return say.refuse.large(name, size(numbers.has), size(numbers.most));
  if (reason === 'pixels') return say.refuse.pixels(name, number(numbers.has), number(numbers.most));
  return say.refuse[reason](name);
}
