// The parameters of sampling and generation: what they are called in a request's body, what they may be, what they do, and what
// holds where nobody says otherwise (http-apis of llama-server; docs/api/openai.md has those of `puna serve`).

export type ParameterGroup = 'thinking' | 'length' | 'sampling' | 'penalties' | 'dry' | 'xtc' | 'temperature' | 'mirostat' | 'form' | 'other';

export interface Parameter {
  name: string;
  kind: 'number' | 'integer' | 'flag' | 'text' | 'texts' | 'choice' | 'json' | 'stages';
  group: ParameterGroup;
  // Of numbers, inclusive.
  least?: number;
  most?: number;
  // Of a slider or the arrows of a field.
  step?: number;
  // Of a choice; of `stages` those that there are.
  values?: readonly string[];
  // Undefined: not sent, the model or the server decides.
  default?: unknown;
  // One sentence, English.
  meaning: string;
  // `puna serve` refuses other values than this by name; llama-server takes them.
  onlyHere?: unknown;
}

// prettier-ignore
export const parameters: readonly Parameter[] = [
  { name: 'enable_thinking', kind: 'flag', group: 'thinking', meaning: 'The model thinks before it answers.' },
  { name: 'reasoning_effort', kind: 'choice', group: 'thinking', values: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'], meaning: 'How long the model thinks.' },
  { name: 'reasoning_budget_tokens', kind: 'integer', group: 'thinking', least: -1, most: 4294967295, default: -1, meaning: 'Tokens of thinking at most; 0: none; -1: no limit.' },
  { name: 'max_tokens', kind: 'integer', group: 'length', least: -1, most: 4294967295, default: -1, meaning: 'Tokens of an answer at most; -1: as many as the context has room for.' },
  { name: 'stop', kind: 'texts', group: 'length', default: [], meaning: 'The answer ends before the first of these.' },
  { name: 'ignore_eos', kind: 'flag', group: 'length', default: false, meaning: 'Goes on where the model would end.' },
  { name: 't_max_predict_ms', kind: 'integer', group: 'length', least: 0, most: 4294967295, default: 0, meaning: 'Milliseconds after which an answer ends at its next line; 0: no limit.', onlyHere: 0 },
  { name: 'temperature', kind: 'number', group: 'temperature', least: 0, most: 100, step: 0.05, default: 0.8, meaning: 'How freely tokens are drawn; 0: always the most probable one.' },
];
