// What parameters do, in the reader's language. English stands in the table of parameters; a language without a line shows that.
import type { Parameter } from '#lib/conversations/parameters.ts';
import { parametersDe } from './parameters_de.ts';
import { language } from './index.svelte.ts';

const tables: Record<string, Record<string, string>> = { de: parametersDe };

export const parameterText = (parameter: Parameter) => tables[language.tag]?.[parameter.name] ?? parameter.meaning;
