// Tokens of the prompt that messages make.
import { EngineError, type ChatMessage } from '../../types/engine.ts';
import { messageBody } from './body.ts';
import { json, type ServerAddress } from './connection.ts';

// Servers without the route of one step make the prompt first; undefined where a server has neither, as for a model
// without a template.
export async function countTokens(
  server: ServerAddress,
  model: string,
  messages: ChatMessage[],
  signal?: AbortSignal,
): Promise<number | undefined> {
  const ask = { method: 'POST', body: { model, messages: messages.map(messageBody) }, signal: signal ?? null } as const;
  try {
    return (await json<{ input_tokens: number }>(server, 'v1/chat/completions/input_tokens', ask)).input_tokens;
  } catch (error) {
    if (!(error instanceof EngineError) || error.fault.kind !== 'model') throw error;
  }
  try {
    const { prompt } = await json<{ prompt: string }>(server, 'apply-template', ask);
    const body = { model, content: prompt, add_special: true, parse_special: true };
    return (await json<{ tokens: unknown[] }>(server, 'tokenize', { ...ask, body })).tokens.length;
  } catch (error) {
    if (error instanceof EngineError && ['model', 'refused'].includes(error.fault.kind)) return undefined;
    throw error;
  }
}
