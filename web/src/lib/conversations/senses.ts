// What files ask of a model beyond reading text.
import type { FileRef } from '../types/conversation.ts';
import type { ModelInfo } from '../types/engine.ts';

export type Sense = 'images' | 'audio';

const senseOf = ({ kind, pages }: FileRef): Sense | undefined =>
  kind === 'image' || (kind === 'pdf' && pages?.length) ? 'images' : kind === 'audio' ? 'audio' : undefined;

export function isMedia(file: FileRef): boolean {
  return senseOf(file) !== undefined;
}

// Those that these files need and the model has not.
export function sensesLacking(model: Pick<ModelInfo, Sense>, files: readonly FileRef[]): Sense[] {
  const needed = new Set(files.map(senseOf));
  return (['images', 'audio'] as const).filter((sense) => needed.has(sense) && !model[sense]);
}
