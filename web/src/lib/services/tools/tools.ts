// The table of tools, and a call of one.
import type { ToolCall } from '../../types/conversation.ts';
import { calculator } from './calculator.ts';
import { javascript } from './javascript.ts';
import { type Tool, ToolError } from './tool.ts';

export const tools: readonly Tool[] = [calculator, javascript];

// What a model is told at most.
const MAX_RESULT_CHARACTERS = 20_000;

// What the call gives, for the model; what goes wrong is told to it as well. Rejects with the signal's reason only.
export async function runTool(call: ToolCall, signal: AbortSignal): Promise<string> {
  try {
    const tool = tools.find(({ spec }) => spec.name === call.name);
    if (!tool)
      throw new ToolError(
        `There is no tool "${call.name}"; there are ${tools.map(({ spec }) => spec.name).join(', ')}.`,
      );
    const result = await tool.run(readArguments(call.arguments), signal);
    if (result.length <= MAX_RESULT_CHARACTERS) return result;
    const left = result.length - MAX_RESULT_CHARACTERS;
    return `${result.slice(0, MAX_RESULT_CHARACTERS)}\n(${left} more characters are left out.)`;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return `Error: ${(error as Error).message}`;
  }
}

function readArguments(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch {
    throw new ToolError('The arguments of the call are no JSON.');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ToolError('The arguments of the call are no JSON object.');
}
