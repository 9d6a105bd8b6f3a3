// Which tools a model may use without asking: in a conversation, and everywhere.
import type { Id, ToolCall } from '../../types/conversation.ts';
import type { Live, Scope } from './live.svelte.ts';

export interface AllowedTools {
  // Everywhere.
  always(): readonly string[];
  allowAlways(name: string): void;
  // In a conversation.
  inChat(convId: Id): Promise<readonly string[]>;
  allowInChat(convId: Id, name: string): Promise<void>;
}

// Whether the call may be made; asks the reader where nobody has said so. Rejects with the signal's reason.
export async function permitted(
  call: ToolCall,
  live: Live,
  allowed: AllowedTools,
  signal: AbortSignal,
): Promise<boolean> {
  const { convId } = live;
  if (allowed.always().includes(call.name) || (await allowed.inChat(convId)).includes(call.name)) return true;
  try {
    return await new Promise<boolean>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      live.permission = {
        call,
        deny: () => resolve(false),
        grant: (scope: Scope) => {
          if (scope === 'always') allowed.allowAlways(call.name);
          if (scope === 'chat') void allowed.allowInChat(convId, call.name);
          resolve(true);
        },
      };
    });
  } finally {
    live.permission = undefined;
  }
}
