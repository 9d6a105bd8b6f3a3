// Settings of the page, and the parameters that hold for an answer.
import type { Preset } from '#lib/types/conversation.ts';
import type { ModelInfo } from '#lib/types/engine.ts';
import type { AppSettings, Effective } from '#lib/types/settings.ts';

type Parameters = Record<string, unknown>;

class Settings {
  // Assign to a field, it is saved: `settings.app.theme = 'dark'`. Objects are replaced, not changed in place.
  get app(): AppSettings {
    throw new Error('not yet');
  }
  // Back to what it is without the reader's doing.
  reset(key: keyof AppSettings): void {
    throw new Error(`not yet ${key}`);
  }
  // server < model (its own defaults, then what the reader set for it) < preset < chat.
  effective(model: ModelInfo | undefined, preset: Preset | undefined, chat: Parameters | undefined): Effective {
    throw new Error(`not yet ${model} ${preset} ${chat}`);
  }
  // What a request has to say: only what the reader set (for the model, in the preset, in the chat), as fields of its body.
  request(model: ModelInfo | undefined, preset: Preset | undefined, chat: Parameters | undefined): Parameters {
    throw new Error(`not yet ${model} ${preset} ${chat}`);
  }
}

export const settings = new Settings();
