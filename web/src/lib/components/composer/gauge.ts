// The messages of a branch with the draft behind them, as their tokens are counted before they are sent.
import type { FileRef, Message } from '#lib/types/conversation.ts';
import type { ChatMessage } from '#lib/types/engine.ts';

const withFiles = (text: string, files: readonly FileRef[]) =>
  [...files.flatMap((file) => (file.text ? [`${file.name}\n${file.text}`] : [])), text].filter(Boolean).join('\n\n');

export function counted(path: readonly Message[], text: string, files: readonly FileRef[]): ChatMessage[] {
  const messages: ChatMessage[] = path
    .filter((one) => one.role !== 'root' && one.role !== 'tool')
    .map((one) => ({ role: one.role as 'user', content: withFiles(one.content, one.files) }));
  if (text || files.length) messages.push({ role: 'user', content: withFiles(text, files) });
  return messages;
}

// Where nobody can count: what the last answer measured, and a token for each four characters since.
export function estimated(path: readonly Message[], text: string, files: readonly FileRef[]): number {
  let known = 0;
  let from = 0;
  path.forEach((one, i) => {
    if (!one.timings) return;
    known = one.timings.promptTokens + one.timings.answerTokens;
    from = i + 1;
  });
  const rest = [...path.slice(from).map((one) => withFiles(one.content, one.files)), withFiles(text, files)];
  return known + Math.ceil(rest.reduce((sum, one) => sum + one.length, 0) / 4);
}
