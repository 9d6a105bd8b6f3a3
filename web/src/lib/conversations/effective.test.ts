import { describe, expect, it } from 'vitest';
import type { Preset } from '#lib/types/conversation.ts';
import type { ModelInfo } from '#lib/types/engine.ts';
import { effective, request } from './effective.ts';
import { misfit, parameterNamed, parameters } from './parameters.ts';

const model = (defaults: Record<string, unknown>, thinks = true): ModelInfo => ({
  id: 'm',
  runsOn: 'server',
  state: 'loaded',
  images: false,
  audio: false,
  tools: false,
  thinks,
  thinkingSwitch: false,
  efforts: [],
  here: true,
  switchable: false,
  removable: false,
  defaults,
});
const preset = (more: Partial<Preset>): Preset => ({
  id: 'p',
  name: 'P',
  system: '',
  parameters: {},
  whenThinking: {},
  whenNotThinking: {},
  lastModified: 0,
  ...more,
});

describe('parameters', () => {
  it('have names of their own, and defaults that fit', () => {
    expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
    for (const parameter of parameters) {
      if (parameter.default !== undefined)
        expect([parameter.name, misfit(parameter, parameter.default)]).toEqual([parameter.name, null]);
    }
  });

  it('refuse what they cannot be', () => {
    const at = (name: string, value: unknown) => misfit(parameterNamed(name)!, value);
    expect(at('top_p', 1.5)).toEqual({ is: 'range', least: 0, most: 1 });
    expect(at('top_k', 1.5)).toEqual({ is: 'kind', wanted: 'integer' });
    expect(at('temperature', NaN)).toEqual({ is: 'kind', wanted: 'number' });
    expect(at('reasoning_effort', 'huge')).toMatchObject({ is: 'choice' });
    expect(at('samplers', ['top_k', 'top_k'])).toEqual({ is: 'kind', wanted: 'stages' });
    expect(at('samplers', ['top_k', 'temperature'])).toBeNull();
    expect(at('stop', ['a', 1])).toEqual({ is: 'kind', wanted: 'texts' });
  });
});

describe('effective values', () => {
  it('are those of server, model, preset and chat, each with its origin', () => {
    const { values, origin } = effective({
      model: model({ temperature: 0.6, top_k: 20, seed: 4294967295, nonsense: 1, top_p: 7 }),
      forModel: { top_k: 30 },
      preset: preset({ parameters: { temperature: 0.1, min_p: 0.2 } }),
      chat: { min_p: 0.3 },
    });
    const seen = Object.fromEntries(
      ['xtc_threshold', 'temperature', 'top_k', 'min_p', 'seed', 'top_p'].map((name) => [
        name,
        [values[name], origin[name]],
      ]),
    );
    expect(seen).toEqual({
      xtc_threshold: [0.1, 'server'],
      temperature: [0.1, 'preset'],
      top_k: [30, 'model'],
      min_p: [0.3, 'chat'],
      seed: [-1, 'server'],
      top_p: [0.95, 'server'],
    });
    expect('nonsense' in values).toBe(false);
  });

  it('of a preset are apart for thinking and not', () => {
    const both = preset({
      parameters: { top_p: 0.5 },
      whenThinking: { temperature: 0.6 },
      whenNotThinking: { temperature: 0.7 },
    });
    expect(effective({ model: model({}), preset: both }).values.temperature).toBe(0.6);
    expect(effective({ model: model({}), preset: both, chat: { enable_thinking: false } }).values.temperature).toBe(
      0.7,
    );
    expect(effective({ model: model({}), preset: both, chat: { reasoning_effort: 'none' } }).thinking).toBe(false);
    expect(effective({ model: model({}, false), preset: both }).values.temperature).toBe(0.7);
    expect(effective({ preset: both }).values.top_p).toBe(0.5);
  });
});

describe('a request', () => {
  it('says what was chosen and nothing else', () => {
    expect(request({ model: model({ temperature: 0.6 }) })).toEqual({});
    expect(
      request({
        model: model({}),
        forModel: { top_k: 5 },
        chat: { temperature: 0, grammar: '', page_tools: ['calculator'] },
      }),
    ).toEqual({ top_k: 5, temperature: 0 });
  });

  it('puts thinking where templates read it, and the members of the own JSON beside it', () => {
    const chat = { enable_thinking: false, custom: { min_keep: 1, chat_template_kwargs: { style: 'short' } } };
    expect(request({ chat })).toEqual({
      min_keep: 1,
      chat_template_kwargs: { enable_thinking: false, style: 'short' },
    });
  });
});
