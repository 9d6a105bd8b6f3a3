// The calls of an answer: each is permitted or not, made, and its result becomes a message; then the model goes on.
import type { Id, Message } from '../../types/conversation.ts';
import type { Deps, Open } from './deps.ts';
import type { Live } from './live.svelte.ts';
import { permitted } from './permissions.ts';

// A model that calls more often behind one question turns in circles.
export const MAX_ROUNDS = 16;

const DENIED = 'The reader did not allow this call.';

// The results of its calls that stand below a message. Calls are made one after the other, each below the result of the
// one before, so those that have results are the first ones.
export function resultsOf(open: Pick<Open, 'children' | 'messages'>, { id, toolCalls = [] }: Message): Id[] {
  const results: Id[] = [];
  for (const call of toolCalls) {
    const below = open.children(results.at(-1) ?? id);
    const result = below.find((child) => open.messages.get(child)?.toolCallId === call.id);
    if (result === undefined) break;
    results.push(result);
  }
  return results;
}

// The id of the last result, behind which the model goes on. Rejects with the signal's reason. Calls that have a result
// already, as after a reload, are not made again.
export async function runCalls(deps: Deps, open: Open, live: Live, message: Message, signal: AbortSignal): Promise<Id> {
  live.phase = 'tool';
  const known = resultsOf(open, message);
  let parent = known.at(-1) ?? message.id;
  for (const call of (message.toolCalls ?? []).slice(known.length)) {
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
