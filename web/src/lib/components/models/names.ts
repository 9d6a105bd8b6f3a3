// Names of models as people say them.
import type { ModelInfo, RunsOn } from '#lib/types/engine.ts';

// hf:owner/Repo-GGUF/Llama-3.1-8B-Instruct-Q4_K_M.gguf -> Llama 3.1 8B Instruct
export function modelName(id: string): string {
  const file = id.split('/').at(-1)!.replace(/\.gguf$/i, '').replace(/^hf:/, '');
  return file
    .replace(/[-_.:](i?q\d\w*|f16|bf16|f32|fp16|mxfp4)$/i, '')
    .replace(/-gguf$/i, '')
    .replace(/(?<=\w)[-_](?=\w)/g, ' ')
    .trim();
}

export const modelLabel = (model: ModelInfo) => modelName(model.id);
export const typeOf = (model: ModelInfo) => model.quantization ?? /(?:^|[-_.:])(i?q\d[\w]*|bf16|f16|f32|mxfp4)(?:\.gguf)?$/i.exec(model.id)?.[1]?.toUpperCase() ?? '';

// What tells a model from others of its name: its type, where it runs, and where that is the same too, its whole id. Empty
// where none of `all` has its name.
export function apart(model: ModelInfo, all: readonly ModelInfo[], place: (runsOn: RunsOn) => string): string {
  let same = all.filter((one) => modelLabel(one) === modelLabel(model) && !(one.id === model.id && one.runsOn === model.runsOn));
  const words: string[] = [];
  for (const mark of [typeOf, (one: ModelInfo) => place(one.runsOn), (one: ModelInfo) => one.id]) {
    const alike = same.filter((one) => mark(one) === mark(model));
    if (alike.length < same.length) words.push(mark(model));
    same = alike;
  }
  return words.filter(Boolean).join(', ');
}
