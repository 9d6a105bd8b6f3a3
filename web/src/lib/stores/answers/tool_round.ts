// The calls of an answer: each is permitted or not, made, and its result becomes a message; then the model goes on.
import type { Id, Message } from '../../types/conversation.ts';
import type { Deps, Open } from './deps.ts';
import type { Live } from './live.svelte.ts';
import { permitted } from './permissions.ts';

// A model that calls more often behind one question turns in circles.
export const MAX_ROUNDS = 16;

const DENIED = 'The reader did not allow this call.';

// The id of the last result, behind which the model goes on. Rejects with the signal's reason. Calls that have a result
// already, as after a reload, are not made again.
export async function runCalls(deps: Deps, open: Open, live: Live, message: Message, signal: AbortSignal): Promise<Id> {
  live.phase = 'tool';
  let parent = message.id;
  for (const call of message.toolCalls ?? []) {
    const known = open.children(parent).find((id) => open.messages.get(id)?.toolCallId === call.id);
    if (known !== undefined) {
      parent = known;
      continue;
    }
    const allowed = await permitted(call, live, deps.allowed, signal);
    const content = allowed ? await deps.runTool(call, signal) : DENIED;
    const result = await open.add({ parent, role: 'tool', content, toolCallId: call.id, status: 'done', files: [] });
    parent = result.id;
  }
  return parent;
}

// How many answers with calls stand behind the last question.
export function rounds(branch: readonly Message[]): number {
  const question = branch.findLastIndex(({ role }) => role === 'user');
  return branch.slice(question + 1).filter(({ toolCalls }) => toolCalls?.length).length;
}
