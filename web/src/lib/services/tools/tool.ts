// What a model may call while it answers, in the page itself. A new tool is a file beside this one and a row in
// tools.ts.
import type { ToolSpec } from '../../types/engine.ts';

export interface Tool {
  spec: ToolSpec;
  // `args`: what the model wrote, read as JSON; an object, not checked further. Gives what the model is told; that
  // something is wrong with the arguments too, thrown as a ToolError.
  run(args: Record<string, unknown>, signal: AbortSignal): Promise<string>;
}

export class ToolError extends Error {}

export function textArgument(args: Record<string, unknown>, name: string): string {
  const value = args[name];
  if (typeof value !== 'string') throw new ToolError(`The argument "${name}" has to be a text.`);
  return value;
}
