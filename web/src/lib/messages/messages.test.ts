import { expect, test } from 'vitest';
import { parameters } from '#lib/conversations/parameters.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import { parametersDe } from './parameters_de.ts';

const leaves = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`)) : [path];

test('every language says everything', () => {
  expect(leaves(de)).toEqual(leaves(en));
  expect(Object.keys(parametersDe).sort()).toEqual(parameters.map((one) => one.name).sort());
});
