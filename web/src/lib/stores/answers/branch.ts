// From a message up to the first.
import type { Id, Message } from '../../types/conversation.ts';

// The first first; the root left out. Ends where a parent is missing or comes again.
export function branchTo(id: Id, messages: ReadonlyMap<Id, Message>): Message[] {
  const branch: Message[] = [];
  const seen = new Set<Id>();
  for (let at = messages.get(id); at && at.parent !== null && !seen.has(at.id); at = messages.get(at.parent)) {
    seen.add(at.id);
    branch.push(at);
  }
  return branch.reverse();
}
