// The body of a chat, in OpenAI's shape with llama-server's fields; the package in the page takes the same.
import type { AnswerRequest, ChatMessage, ToolSpec } from '../../types/engine.ts';

export function messageBody({ tool_calls: calls, ...rest }: ChatMessage): Record<string, unknown> {
  if (!calls?.length) return rest;
  const called = calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  // A call without words has no content.
  return { ...rest, content: rest.content === '' ? null : rest.content, tool_calls: called };
}

function toolBody({ name, description, parameters }: ToolSpec): Record<string, unknown> {
  return { type: 'function', function: { name, description, parameters } };
}

// What both engines are asked. What the reader set goes first, so that it cannot change how the page speaks to the
// engine.
export function chatBody({ messages, parameters, tools, continues }: AnswerRequest): Record<string, unknown> {
  const body: Record<string, unknown> = { ...parameters, messages: messages.map(messageBody) };
  if (tools.length > 0) body['tools'] = tools.map(toolBody);
  if (continues) Object.assign(body, { continue_final_message: true, add_generation_prompt: false });
  return body;
}
