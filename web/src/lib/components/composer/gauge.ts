// The messages of a branch with the draft behind them, as their tokens are counted before they are sent. Pictures and sounds are counted
// apart (stores/costs.svelte.ts), so that their bytes do not go to the engine with each word that is typed.
import { isMedia } from '#lib/conversations/senses.ts';
import type { FileRef, Message } from '#lib/types/conversation.ts';
import type { ChatMessage } from '#lib/types/engine.ts';

const withFiles = (text: string, files: readonly FileRef[]) =>
  [...files.flatMap((file) => (file.text && !isMedia(file) ? [`${file.name}\n${file.text}`] : [])), text].filter(Boolean).join('\n\n');

export function counted(path: readonly Message[], text: string, files: readonly FileRef[]): ChatMessage[] {
  const messages: ChatMessage[] = path
    .filter((one) => one.role !== 'root' && one.role !== 'tool')
    .map((one) => ({ role: one.role as 'user', content: withFiles(one.content, one.files) }));
  if (text || files.length) messages.push({ role: 'user', content: withFiles(text, files) });
  return messages;
}

// Those that no last answer has measured.
export function unmeasured(path: readonly Message[]): { known: number; rest: readonly Message[] } {
  const at = path.findLastIndex((one) => one.timings);
  const timings = path[at]?.timings;
  return { known: timings ? timings.promptTokens + timings.answerTokens : 0, rest: path.slice(at + 1) };
}

// Where nobody can count: what the last answer measured, and a token for each four characters since; `media`: tokens of the pictures and
// sounds since, as far as they are known.
export function estimated(path: readonly Message[], text: string, files: readonly FileRef[], media = 0): number {
  const { known, rest } = unmeasured(path);
  const texts = [...rest.map((one) => withFiles(one.content, one.files)), withFiles(text, files)];
  return known + media + Math.ceil(texts.reduce((sum, one) => sum + one.length, 0) / 4);
}
