// Which parameters hold for an answer: server < model < preset < chat, each value with where it comes from.
import { dictOf, type Dict } from '#lib/base/values.ts';
import type { Preset } from '#lib/types/conversation.ts';
import type { ModelInfo } from '#lib/types/engine.ts';
import type { Effective, Origin } from '#lib/types/settings.ts';
import { misfit, pageSettings, parameterNamed, parameters } from './parameters.ts';

export interface Layers {
  model?: ModelInfo | undefined;
  // What the reader set for the model.
  forModel?: Dict | undefined;
  preset?: Preset | undefined;
  chat?: Dict | undefined;
}

export function effective(layers: Layers): Effective {
  const out: Effective = { values: {}, origin: {}, thinking: thinks(layers) };
  const lay = (origin: Origin, values: Dict | undefined) => {
    for (const [name, value] of Object.entries(values ?? {})) {
      if (value === undefined || value === null) continue;
      out.values[name] = value;
      out.origin[name] = origin;
    }
  };
  for (const { name, default: value } of parameters) lay('server', { [name]: value });
  lay('model', known(layers.model?.defaults));
  for (const [origin, values] of chosen(layers, out.thinking)) lay(origin, values);
  return out;
}

// What a request says: what was chosen, as fields of its body. What holds anyway is left to the server.
export function request(layers: Layers): Dict {
  const values: Dict = {};
  for (const [, layer] of chosen(layers, thinks(layers))) {
    for (const [name, value] of Object.entries(layer ?? {}))
      if (value !== undefined && value !== null) values[name] = value;
  }
  const { enable_thinking: thinking, custom, ...body } = values;
  // These ask for nothing when they are empty, and llama-server reads an empty grammar beside a schema as both.
  for (const name of ['grammar', 'reasoning_budget_message']) if (body[name] === '') delete body[name];
  for (const { name } of pageSettings) delete body[name];
  const own = dictOf(custom);
  const kwargs = { ...(thinking !== undefined && { enable_thinking: thinking }), ...dictOf(own.chat_template_kwargs) };
  return { ...body, ...own, ...(Object.keys(kwargs).length > 0 && { chat_template_kwargs: kwargs }) };
}

function chosen({ forModel, preset, chat }: Layers, thinking: boolean): [Origin, Dict | undefined][] {
  return [
    ['model', forModel],
    ['preset', preset?.parameters],
    ['preset', thinking ? preset?.whenThinking : preset?.whenNotThinking],
    ['chat', chat],
  ];
}

function thinks({ model, forModel, preset, chat }: Layers): boolean {
  for (const layer of [chat, preset?.parameters, forModel, model?.defaults]) {
    const said = layer?.enable_thinking;
    if (typeof said === 'boolean') return said;
    if (layer?.reasoning_effort === 'none') return false;
  }
  return model?.thinks ?? false;
}

// Of what a server says about its model: names of the table with values that fit (a seed of 4294967295 is none).
function known(defaults: Dict | undefined): Dict {
  const entries = Object.entries(defaults ?? {}).filter(([name, value]) => {
    const parameter = parameterNamed(name);
    return parameter !== undefined && misfit(parameter, value) === null && !(name === 'seed' && value === 4294967295);
  });
  return Object.fromEntries(entries);
}
