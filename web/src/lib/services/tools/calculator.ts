// The calculator.
import { evaluate, ExpressionError, written } from './expression.ts';
import { textArgument, type Tool, ToolError } from './tool.ts';

export const calculator: Tool = {
  spec: {
    name: 'calculator',
    description:
      'Works out an arithmetic expression exactly as written: + - * / % ^ !, parentheses, pi, e, ' +
      'and functions such as sqrt, ln, log, sin, round, min, max.',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string', description: 'For example: (17.5 * 12 - 3) / sqrt(2)' } },
      required: ['expression'],
      additionalProperties: false,
    },
  },
  async run(args) {
    try {
      return written(evaluate(textArgument(args, 'expression')));
    } catch (error) {
      if (error instanceof ExpressionError) throw new ToolError(error.message);
      throw error;
    }
  },
};
