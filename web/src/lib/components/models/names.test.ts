import { expect, it } from 'vitest';
import type { ModelInfo, RunsOn } from '#lib/types/engine.ts';
import { apart, modelLabel } from './names.ts';

const model = (id: string, runsOn: RunsOn = 'server') => ({ id, runsOn }) as ModelInfo;
const told = (...all: ModelInfo[]) => all.map((one) => [modelLabel(one), apart(one, all, (runsOn) => `on ${runsOn}`)].filter(Boolean).join(': '));

it('says of models of one name what tells them apart, and no more', () => {
  expect(told(model('tiny:latest'), model('hf.co/o/Llama-3.2-1B-GGUF:Q8_0'))).toEqual(['tiny:latest', 'Llama 3.2 1B']);
  expect(told(model('hf.co/o/Llama-1B-GGUF:Q4_K_M'), model('hf.co/o/Llama-1B-GGUF:Q8_0'))).toEqual(['Llama 1B: Q4_K_M', 'Llama 1B: Q8_0']);
  expect(told(model('a/m-Q8_0.gguf'), model('a/m-Q8_0.gguf', 'tab'))).toEqual(['m: on server', 'm: on tab']);
  expect(told(model('hf:a/r/m-Q8_0.gguf', 'tab'), model('hf:b/r/m-Q8_0.gguf', 'tab'), model('m-Q4_0.gguf'))).toEqual([
    'm: Q8_0, hf:a/r/m-Q8_0.gguf',
    'm: Q8_0, hf:b/r/m-Q8_0.gguf',
    'm: Q4_0',
  ]);
});
