import { describe, expect, it } from 'vitest';
import { runTool, tools } from './tools.ts';

const call = (name: string, args: string) => runTool({ id: 'c', name, arguments: args }, new AbortController().signal);

describe('runTool', () => {
  it('works out what the calculator is asked', async () => {
    expect(await call('calculator', '{"expression":"6*7"}')).toBe('42');
  });

  it.each([
    ['calculator', '{"expression":"1/0"}', 'Error: Division by zero.'],
    ['calculator', '{"expression":7}', 'Error: The argument "expression" has to be a text.'],
    ['calculator', '', 'Error: The argument "expression" has to be a text.'],
    ['calculator', '{"expression"', 'Error: The arguments of the call are no JSON.'],
    ['calculator', '[1]', 'Error: The arguments of the call are no JSON object.'],
    ['calculator', 'null', 'Error: The arguments of the call are no JSON object.'],
    ['rm', '{}', 'Error: There is no tool "rm"; there are calculator, javascript.'],
  ])('tells the model what is wrong with %s(%s)', async (name, args, expected) =>
    expect(await call(name, args)).toBe(expected),
  );

  it('has a schema for each tool that needs what the tool reads', () => {
    for (const { spec } of tools) {
      expect(spec.name).toMatch(/^[a-z_]+$/);
      expect(spec.parameters).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });
});
