// The branch that is shown, as a text to read.
import { leafOr, pathTo, treeOf } from '#lib/conversations/tree.ts';
import type { FileRef, Message } from '#lib/types/conversation.ts';
import type { Exported } from './index.ts';

export function writeMarkdown({ conversation, messages }: Exported): string {
  const tree = treeOf(messages);
  const path = pathTo(tree, leafOr(tree, conversation.currNode));
  return [`# ${inLine(conversation.name)}`, ...path.map(section)].join('\n\n') + '\n';
}

// A message as it is copied to elsewhere.
export function section(message: Message): string {
  const parts = [`## ${inLine(speaker(message))}`];
  if (message.thought) parts.push(`<details>\n<summary>Thinking</summary>\n\n${message.thought}\n\n</details>`);
  parts.push(...message.files.map(file));
  if (message.content !== '') parts.push(message.content);
  for (const call of message.toolCalls ?? []) parts.push(`${inLine(call.name)}:\n\n${fenced(call.arguments, 'json')}`);
  if (message.error) parts.push(`> ${inLine(message.error.message)}`);
  return parts.join('\n\n');
}

function speaker({ role, model }: Message): string {
  switch (role) {
    case 'user':
      return 'You';
    case 'assistant':
      return model ?? 'Answer';
    case 'tool':
      return 'Result';
    default:
      return 'System';
  }
}

function file({ name, text }: FileRef): string {
  return text === undefined ? `File: ${inLine(name)}` : `File: ${inLine(name)}\n\n${fenced(text, '')}`;
}

// A fence longer than any in the text.
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

function inLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
