// The parameters of sampling and generation: what they are called in a request's body, what they may be, what they do,
// and what holds where nobody says otherwise. Names and defaults are llama-server's; `puna serve` has the same
// (docs/api/openai.md).

export type ParameterGroup =
  'thinking' | 'length' | 'temperature' | 'choice' | 'repetition' | 'dry' | 'xtc' | 'mirostat' | 'form' | 'other';

export interface Parameter {
  name: string;
  kind: 'number' | 'integer' | 'flag' | 'text' | 'texts' | 'choice' | 'stages' | 'json';
  group: ParameterGroup;
  // Of numbers, inclusive.
  least?: number;
  most?: number;
  // Of the arrows of a field; a slider goes from `least` to `usual` where there is one.
  step?: number;
  usual?: number;
  // Of a choice; of stages those that there are.
  values?: readonly string[];
  // Undefined: nothing is sent, the model decides.
  default?: unknown;
  // A sentence, English.
  meaning: string;
  // llama-server has it; `puna serve` refuses other values than the default by name, or passes it over.
  onlyLlama?: true;
}

const most = 4294967295; // of an unsigned 32-bit integer
const stages = ['penalties', 'dry', 'top_n_sigma', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature'] as const;
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

export const parameters: readonly Parameter[] = [
  {
    name: 'enable_thinking',
    kind: 'flag',
    group: 'thinking',
    meaning: 'The model thinks before it answers, where its template lets one choose.',
  },
  {
    name: 'reasoning_effort',
    kind: 'choice',
    group: 'thinking',
    values: efforts,
    meaning: 'How much the model thinks.',
  },
  {
    name: 'reasoning_budget_tokens',
    kind: 'integer',
    group: 'thinking',
    least: -1,
    most,
    default: -1,
    meaning: 'Tokens of thinking at most, behind which it is ended; -1: no limit.',
  },
  {
    name: 'reasoning_budget_message',
    kind: 'text',
    group: 'thinking',
    default: '',
    meaning: 'What is written where thinking is ended.',
  },

  {
    name: 'max_tokens',
    kind: 'integer',
    group: 'length',
    least: -1,
    most,
    default: -1,
    meaning: 'Tokens of an answer at most; -1: as many as the context has room for.',
  },
  {
    name: 'stop',
    kind: 'texts',
    group: 'length',
    default: [],
    meaning: 'The answer ends before the first of these texts.',
  },
  { name: 'ignore_eos', kind: 'flag', group: 'length', default: false, meaning: 'Goes on where the model would end.' },
  {
    name: 't_max_predict_ms',
    kind: 'integer',
    group: 'length',
    least: 0,
    most,
    default: 0,
    meaning: 'Milliseconds after which the answer ends with its line; 0: no limit.',
    onlyLlama: true,
  },
  {
    name: 'n_indent',
    kind: 'integer',
    group: 'length',
    least: 0,
    most,
    default: 0,
    meaning: 'The answer ends before a line that is indented less than this; 0: off.',
    onlyLlama: true,
  },

  {
    name: 'temperature',
    kind: 'number',
    group: 'temperature',
    least: 0,
    most: 100,
    usual: 2,
    step: 0.05,
    default: 0.8,
    meaning: 'How freely tokens are drawn; 0: always the most probable one.',
  },
  {
    name: 'dynatemp_range',
    kind: 'number',
    group: 'temperature',
    least: 0,
    most: 100,
    usual: 2,
    step: 0.05,
    default: 0,
    meaning: 'The temperature moves up and down by so much with how unsure the model is; 0: off.',
  },
  {
    name: 'dynatemp_exponent',
    kind: 'number',
    group: 'temperature',
    least: 0.01,
    most: 100,
    usual: 4,
    step: 0.1,
    default: 1,
    meaning: 'How being unsure becomes a temperature.',
  },
  {
    name: 'seed',
    kind: 'integer',
    group: 'temperature',
    least: -1,
    most,
    default: -1,
    meaning: 'Where the draws begin: the same seed draws the same; -1: another one each time.',
  },

  {
    name: 'top_k',
    kind: 'integer',
    group: 'choice',
    least: 0,
    most,
    usual: 100,
    step: 1,
    default: 40,
    meaning: 'Only so many of the most probable tokens; 0: off.',
  },
  {
    name: 'top_p',
    kind: 'number',
    group: 'choice',
    least: 0,
    most: 1,
    step: 0.01,
    default: 0.95,
    meaning: 'Only the most probable tokens that together reach this; 1: off.',
  },
  {
    name: 'min_p',
    kind: 'number',
    group: 'choice',
    least: 0,
    most: 1,
    step: 0.01,
    default: 0.05,
    meaning: 'Only tokens at least this probable beside the most probable one; 0: off.',
  },
  {
    name: 'top_n_sigma',
    kind: 'number',
    group: 'choice',
    least: -1,
    most: 100,
    usual: 5,
    step: 0.1,
    default: -1,
    meaning: 'Only tokens within so many standard deviations of the first; up to 0: off.',
  },
  {
    name: 'typical_p',
    kind: 'number',
    group: 'choice',
    least: 0,
    most: 1,
    step: 0.01,
    default: 1,
    meaning: 'Only tokens that surprise about as much as expected, up to this sum; 1: off.',
  },
  {
    name: 'min_keep',
    kind: 'integer',
    group: 'choice',
    least: 0,
    most,
    default: 0,
    meaning: 'Tokens that each stage leaves at least.',
    onlyLlama: true,
  },
  {
    name: 'adaptive_target',
    kind: 'number',
    group: 'choice',
    least: -1,
    most: 1,
    step: 0.05,
    default: -1,
    meaning: 'Tokens are chosen near this probability; below 0: off.',
    onlyLlama: true,
  },
  {
    name: 'adaptive_decay',
    kind: 'number',
    group: 'choice',
    least: 0,
    most: 0.99,
    step: 0.01,
    default: 0.9,
    meaning: 'How long adaptive_target remembers.',
    onlyLlama: true,
  },
  {
    name: 'samplers',
    kind: 'stages',
    group: 'choice',
    values: stages,
    default: stages,
    meaning: 'The stages of sampling in their order; those left out do nothing.',
  },
  {
    name: 'logit_bias',
    kind: 'json',
    group: 'choice',
    default: [],
    meaning: 'What is added to tokens: [[id or text, number], ...]; false in place of a number: never.',
  },

  {
    name: 'repeat_penalty',
    kind: 'number',
    group: 'repetition',
    least: 0.01,
    most: 100,
    usual: 2,
    step: 0.01,
    default: 1,
    meaning: 'Divides the score of tokens that were there; 1: off.',
  },
  {
    name: 'repeat_last_n',
    kind: 'integer',
    group: 'repetition',
    least: 0,
    most,
    default: 64,
    meaning: 'Tokens that the three penalties look back; 0: none.',
  },
  {
    name: 'presence_penalty',
    kind: 'number',
    group: 'repetition',
    least: -100,
    most: 100,
    usual: 2,
    step: 0.05,
    default: 0,
    meaning: 'Lowers the score of tokens that were there; 0: off.',
  },
  {
    name: 'frequency_penalty',
    kind: 'number',
    group: 'repetition',
    least: -100,
    most: 100,
    usual: 2,
    step: 0.05,
    default: 0,
    meaning: 'Lowers the score of tokens as often as they were there; 0: off.',
  },

  {
    name: 'dry_multiplier',
    kind: 'number',
    group: 'dry',
    least: 0,
    most: 100,
    usual: 2,
    step: 0.05,
    default: 0,
    meaning: 'How strongly repeated runs of tokens are held back; 0: off.',
  },
  {
    name: 'dry_base',
    kind: 'number',
    group: 'dry',
    least: 1,
    most: 100,
    usual: 4,
    step: 0.05,
    default: 1.75,
    meaning: 'The strength grows by this with each token of a repeated run.',
  },
  {
    name: 'dry_allowed_length',
    kind: 'integer',
    group: 'dry',
    least: 0,
    most,
    default: 2,
    meaning: 'Repeated runs up to this length cost nothing.',
  },
  {
    name: 'dry_penalty_last_n',
    kind: 'integer',
    group: 'dry',
    least: 0,
    most,
    default: 64,
    meaning: 'Tokens that are looked back for repeated runs; 0: none.',
  },
  {
    name: 'dry_sequence_breakers',
    kind: 'texts',
    group: 'dry',
    default: ['\n', ':', '"', '*'],
    meaning: 'Texts over which no repeated run reaches.',
  },

  {
    name: 'xtc_probability',
    kind: 'number',
    group: 'xtc',
    least: 0,
    most: 1,
    step: 0.01,
    default: 0,
    meaning: 'How often the top choices are left out; 0: never.',
  },
  {
    name: 'xtc_threshold',
    kind: 'number',
    group: 'xtc',
    least: 0,
    most: 1,
    step: 0.01,
    default: 0.1,
    meaning: 'How probable a top choice is; above 0.5 there is never more than one, and nothing is left out.',
  },

  {
    name: 'mirostat',
    kind: 'integer',
    group: 'mirostat',
    least: 0,
    most: 2,
    step: 1,
    default: 0,
    meaning: 'The version of Mirostat that chooses in place of the stages before the temperature; 0: off.',
  },
  {
    name: 'mirostat_tau',
    kind: 'number',
    group: 'mirostat',
    least: 0,
    most: 100,
    usual: 10,
    step: 0.1,
    default: 5,
    meaning: 'Bits of surprise that Mirostat aims at.',
  },
  {
    name: 'mirostat_eta',
    kind: 'number',
    group: 'mirostat',
    least: 0,
    most: 10,
    usual: 1,
    step: 0.01,
    default: 0.1,
    meaning: 'How fast Mirostat gets there.',
  },

  {
    name: 'grammar',
    kind: 'text',
    group: 'form',
    default: '',
    meaning: 'The answer is what this grammar (GBNF) matches.',
  },
  { name: 'json_schema', kind: 'json', group: 'form', meaning: 'The answer is JSON that this schema admits.' },

  {
    name: 'cache_prompt',
    kind: 'flag',
    group: 'other',
    default: true,
    meaning: 'What is known of the prompt is not read again.',
  },
  {
    name: 'n_keep',
    kind: 'integer',
    group: 'other',
    least: -1,
    most,
    default: 0,
    meaning: 'With --context-shift: tokens at the beginning that stay when the context is full; -1: the prompt.',
  },
  {
    name: 'n_discard',
    kind: 'integer',
    group: 'other',
    least: 0,
    most,
    default: 0,
    meaning: 'With --context-shift: tokens behind these that go; 0: half of them.',
  },
  {
    name: 'n_cache_reuse',
    kind: 'integer',
    group: 'other',
    least: 0,
    most,
    default: 0,
    meaning: 'Runs of at least this many known tokens are used again at another place; 0: off.',
    onlyLlama: true,
  },
  {
    name: 'id_slot',
    kind: 'integer',
    group: 'other',
    least: -1,
    most: 255,
    default: -1,
    meaning: 'The slot of the server that answers; -1: any.',
  },
  {
    name: 'n_probs',
    kind: 'integer',
    group: 'other',
    least: 0,
    most: 128,
    default: 0,
    meaning: 'The probabilities of so many of the most probable tokens come with the answer; 0: none.',
  },
  {
    name: 'backend_sampling',
    kind: 'flag',
    group: 'other',
    default: false,
    meaning: 'The GPU chooses the tokens.',
    onlyLlama: true,
  },
  {
    name: 'custom',
    kind: 'json',
    group: 'other',
    meaning: 'An object whose members are sent with each request as they are.',
  },
];

// Settings of a chat that are no fields of a request.
export const pageSettings: readonly Parameter[] = [
  {
    name: 'page_tools',
    kind: 'texts',
    group: 'other',
    default: [],
    meaning: 'The tools of this page that the model is offered.',
  },
];

const byName = new Map([...parameters, ...pageSettings].map((parameter) => [parameter.name, parameter]));

export function parameterNamed(name: string): Parameter | undefined {
  return byName.get(name);
}

// Why a value cannot be that of the parameter, as data for the words of the interface; null: it can.
export type Misfit =
  | { is: 'kind'; wanted: Parameter['kind'] }
  | { is: 'range'; least: number | undefined; most: number | undefined }
  | { is: 'choice'; values: readonly string[] };

export function misfit({ kind, least, most, values }: Parameter, value: unknown): Misfit | null {
  const wrong: Misfit = { is: 'kind', wanted: kind };
  switch (kind) {
    case 'number':
    case 'integer':
      if (typeof value !== 'number' || !Number.isFinite(value) || (kind === 'integer' && !Number.isInteger(value)))
        return wrong;
      return (least !== undefined && value < least) || (most !== undefined && value > most)
        ? { is: 'range', least, most }
        : null;
    case 'flag':
      return typeof value === 'boolean' ? null : wrong;
    case 'text':
      return typeof value === 'string' ? null : wrong;
    case 'texts':
      return Array.isArray(value) && value.every((each) => typeof each === 'string') ? null : wrong;
    case 'choice':
      return values!.includes(value as string) ? null : { is: 'choice', values: values! };
    case 'stages':
      if (!Array.isArray(value) || new Set(value).size !== value.length) return wrong;
      return value.every((each) => values!.includes(each as string)) ? null : { is: 'choice', values: values! };
    case 'json':
      return typeof value === 'object' && value !== null ? null : wrong;
  }
}
