import { expect, it } from 'vitest';
import { modelId } from './model_id.ts';

it.each([
  ['https://huggingface.co/o/r/resolve/main/m.gguf', 'hf:o/r/m.gguf'],
  ['https://HuggingFace.co/o/r/resolve/main/a/m%20x.gguf#top', 'hf:o/r/a/m x.gguf'],
  ['https://huggingface.co/o/r/resolve/v2/m.gguf', 'hf:o/r@v2/m.gguf'],
  ['https://huggingface.co/o/r/resolve/main/', 'hf:o/r'],
  ['hf:o/r@main/m.gguf', 'hf:o/r/m.gguf'],
  ['hf:o/r', 'hf:o/r'],
  ['smollm2:latest', 'smollm2:latest'],
  // hf: would lead to another spelling of it.
  ['https://huggingface.co/o/r/resolve/main/a+b.gguf', 'https://huggingface.co/o/r/resolve/main/a+b.gguf'],
  ['https://huggingface.co/o/r/resolve/main/m.gguf?x=1', 'https://huggingface.co/o/r/resolve/main/m.gguf?x=1'],
  ['https://host/m.gguf', 'https://host/m.gguf'],
  ['https://', 'https://'],
])('%s is known as %s', (address, id) => expect(modelId(address)).toBe(id));
