// JavaScript in the sandbox.
import { runScript } from '../sandbox.ts';
import { textArgument, type Tool } from './tool.ts';

export const javascript: Tool = {
  spec: {
    name: 'javascript',
    description:
      'Runs JavaScript and tells what it printed with console.log and its last value. ' +
      'It has no network, no files and no page, and 10 seconds.',
    parameters: {
      type: 'object',
      properties: { code: { type: 'string', description: 'A script; await is possible.' } },
      required: ['code'],
      additionalProperties: false,
    },
  },
  run: (args, signal) => runScript(textArgument(args, 'code'), signal),
};
