// Answers that are being written, of all conversations (answers/answers.ts has how). The layout calls `answers.listen()`
// and `answers.resumeAll()` once, and `models.start()` before.
import { newId } from '../base/ids.ts';
import { engineOf } from '../services/engine.ts';
import { openLeases } from '../services/lease.ts';
import { runTool, tools } from '../services/tools/tools.ts';
import { Waker } from '../services/wake.ts';
import { getFile } from '../storage/files.ts';
import { storage } from '../storage/storage.ts';
import { getValue, putValue } from '../storage/values.ts';
import { sensesLacking, type Sense } from '../conversations/senses.ts';
import type { Conversation, FileRef } from '../types/conversation.ts';
import type { ModelInfo } from '../types/engine.ts';
import { Answers } from './answers/answers.ts';
import { openChannel } from './answers/channel.ts';
import type { Choice, Setup } from './answers/deps.ts';
import { Pace } from './answers/pace.ts';
import type { AllowedTools } from './answers/permissions.ts';
import { unfinished } from './answers/unfinished.ts';
import { conversations } from './conversations.svelte.ts';
import { models } from './models.svelte.ts';
import { presets } from './presets.svelte.ts';
import { settings } from './settings.svelte.ts';

export type { StartOptions } from './answers/answers.ts';
export type { LiveAnswer, Permission, Phase, Scope } from './answers/live.svelte.ts';

// The setting of a chat that has the names of the tools which its model is offered; none where it is missing.
export const TOOLS_SETTING = 'page_tools';

export const toolNames: readonly string[] = tools.map(({ spec }) => spec.name);

function setup(conversation: Conversation, other: Partial<Choice>): Setup {
  const model = other.model ?? conversation.model ?? models.chosen?.model;
  const own = other.model === undefined ? conversation.runsOn : undefined;
  const runsOn =
    other.runsOn ?? own ?? models.list.find(({ id }) => id === model)?.runsOn ?? models.chosen?.runsOn ?? 'server';
  const info = model === undefined ? undefined : models.find(model, runsOn);
  const preset = presets.get(conversation.preset ?? settings.app.preset);
  const { [TOOLS_SETTING]: offered, ...chat } = conversation.settings ?? {};
  const names = Array.isArray(offered) ? offered : [];
  return {
    choice: model === undefined ? undefined : { model, runsOn },
    // Of one that nobody lists the engine says what is wrong with it.
    state: info?.state ?? 'loaded',
    parameters: settings.request(info, preset, chat),
    tools: info?.tools === false ? [] : tools.map(({ spec }) => spec).filter(({ name }) => names.includes(name)),
    system: preset?.system ?? '',
    refuses: (files) => (info ? refusal(info, files) : undefined),
  };
}

const SENSES: Record<Sense, string> = { images: 'sees no images', audio: 'hears no sound' };

function refusal(info: ModelInfo, files: readonly FileRef[]): string | undefined {
  const lacking = sensesLacking(info, files);
  if (lacking.length === 0) return undefined;
  const able = models.able(lacking).map(({ id }) => id);
  const others = able.length > 0 ? ` Models here that do: ${able.slice(0, 4).join(', ')}.` : ' No model here does.';
  return `The model ${info.id} ${lacking.map((sense) => SENSES[sense]).join(' and ')}, and this chat has such files.${others}`;
}

const allowedKey = (convId: string) => `tools.${convId}`;

const allowed: AllowedTools = {
  always: () => settings.app.tools,
  allowAlways: (name) => (settings.app.tools = [...settings.app.tools.filter((each) => each !== name), name]),
  inChat: async (convId) => (await getValue<string[]>(allowedKey(convId))) ?? [],
  async allowInChat(convId, name) {
    const names = (await this.inChat(convId)).filter((each) => each !== name);
    await putValue(allowedKey(convId), [...names, name]);
  },
};

const pace = new Pace();

const waker = new Waker();

class PageAnswers extends Answers {
  // Tries lost streams again now.
  retry(): void {
    waker.wake();
  }

  override listen(): () => void {
    const ends = [super.listen(), waker.listen(), pace.listen()];
    return () => ends.forEach((end) => end());
  }
}

export const answers = new PageAnswers({
  open: (convId) => conversations.open(convId),
  writing: () => unfinished(storage),
  stored: (messageId) => storage.row('messages', messageId),
  setup,
  engine: engineOf,
  runTool,
  measured: (choice, tokensPerSecond) => models.measured(choice, tokensPerSecond),
  getFile,
  allowed,
  leases: openLeases(newId()),
  channel: openChannel(),
  sleep: waker.sleep,
  frame: pace.frame,
  newId,
});
