// The model and the settings that hold for what is typed now: of the open chat, or of the one that does not exist yet.
import { conversations, type OpenConversation } from '#lib/stores/conversations.svelte.ts';
import type { Choice } from '#lib/stores/answers/deps.ts';
import { models } from '#lib/stores/models.svelte.ts';
import { presets } from '#lib/stores/presets.svelte.ts';
import { settings } from '#lib/stores/settings.svelte.ts';
import type { Id } from '#lib/types/conversation.ts';
import type { RunsOn } from '#lib/types/engine.ts';

class Current {
  open = $state.raw<OpenConversation | null>(null);
  // Of the chat that does not exist yet.
  newSettings = $state.raw<Record<string, unknown>>({});
  newSystem = $state('');
  newPreset = $state<Id | undefined>(undefined);

  get choice(): Choice | undefined {
    const chat = this.open?.conversation;
    if (!chat?.model) return models.chosen;
    const runsOn = chat.runsOn ?? models.chosen?.runsOn ?? 'server';
    // A model that is gone (another server, another browser) gives way to the chosen one.
    return models.find(chat.model, runsOn) || !models.chosen ? { model: chat.model, runsOn } : models.chosen;
  }
  get model() {
    return this.choice && models.find(this.choice.model, this.choice.runsOn);
  }
  get settings(): Record<string, unknown> {
    return this.open ? (this.open.conversation.settings ?? {}) : this.newSettings;
  }
  get preset() {
    return presets.get(this.open ? this.open.conversation.preset : this.newPreset) ?? presets.get(settings.app.preset);
  }
  get effective() {
    return settings.effective(this.model, this.preset, this.settings);
  }

  async choose(model: string, runsOn: RunsOn) {
    models.choose(model, runsOn);
    if (this.open) await conversations.update(this.open.conversation.id, { model, runsOn });
  }
  async set(name: string, value: unknown) {
    const next = { ...this.settings };
    if (value === undefined) delete next[name];
    else next[name] = value;
    if (this.open) await conversations.update(this.open.conversation.id, { settings: next });
    else this.newSettings = next;
  }
  async usePreset(id: Id | undefined) {
    if (!this.open) this.newPreset = id;
    else await conversations.update(this.open.conversation.id, { preset: id } as { preset: Id });
  }
}

export const current = new Current();
