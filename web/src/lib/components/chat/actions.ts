// What can be done with a message, for its row of buttons, its menu and the keyboard alike.
import { plainText } from '#lib/markdown/plain.ts';
import { say } from '#lib/messages/index.svelte.ts';
import { answers } from '#lib/stores/answers.svelte.ts';
import { conversations, type OpenConversation } from '#lib/stores/conversations.svelte.ts';
import type { FileRef, Message } from '#lib/types/conversation.ts';
import type { RunsOn } from '#lib/types/engine.ts';
import { copyText } from '../parts/copy.ts';
import { focusAfter, focusPrompt, goAndWrite } from '../focus.ts';
import { notices } from '../parts/notices.svelte.ts';

const guarded = <T>(work: Promise<T>) => notices.guard(work, say.failed);

export async function copyMessage(message: Message, as: 'markdown' | 'text') {
  const copied = await copyText(as === 'text' ? plainText(message.content) : message.content);
  if (copied) notices.show(say.copied);
  else notices.show(say.copyFailed, { bad: true });
}

// While an answer is written, the buttons that had it begun are not there.
async function begun(work: Promise<unknown>) {
  await guarded(work);
  await focusAfter();
}

export const regenerate = (open: OpenConversation, message: Message, by?: { model: string; runsOn: RunsOn }) =>
  begun(answers.start(open, message.parent!, by ?? {}));

export const goOn = (open: OpenConversation, message: Message) =>
  begun(answers.start(open, message.parent!, { continues: message.id }));

// Calls of tools that a stop or a reload left unmade.
export const callNow = (open: OpenConversation, message: Message) => begun(answers.goOn(open, message.id));

// The edited question as a sibling, and an answer to it.
export const ask = (open: OpenConversation, message: Message, content: string, files: FileRef[]) =>
  guarded(
    (async () => {
      const added = await open.add({ parent: message.parent!, role: message.role, content, files });
      if (added.role === 'user') await answers.start(open, added.id);
      await focusPrompt();
    })(),
  );

export async function rewrite(open: OpenConversation, message: Message, content: string, files: FileRef[]) {
  const undo = await guarded(open.rewrite(message.id, { content, files }));
  if (undo) notices.show(say.done, { action: { label: say.undo, run: undo } });
}

export async function removeFrom(open: OpenConversation, message: Message) {
  const undo = await guarded(open.removeFrom(message.id));
  if (!undo) return;
  notices.show(say.deletedMessages, { action: { label: say.undo, run: undo } });
  void focusPrompt();
}

export async function fork(convId: string, messageId: string) {
  const made = await guarded(conversations.fork(convId, messageId));
  if (!made) return;
  await goAndWrite(`#/chat/${made.id}`);
  notices.show(say.forked);
}

export async function removeChats(ids: string[]) {
  const undo = await guarded(conversations.remove(ids));
  if (!undo) return;
  const shown = ids.find((id) => location.hash === `#/chat/${id}`);
  if (shown) await goAndWrite('#/');
  else void focusPrompt();
  const back = async () => {
    await undo();
    if (shown) await goAndWrite(`#/chat/${shown}`);
  };
  notices.show(say.deletedChats(ids.length), { action: { label: say.undo, run: () => guarded(back()) } });
}
