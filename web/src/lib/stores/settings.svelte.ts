// Settings of the page, and the parameters that hold for an answer. They are in the browser's local storage, because
// theme and text size are needed before the first paint.
import { effective, request } from '#lib/conversations/effective.ts';
import { isDict, type Dict } from '#lib/base/values.ts';
import type { Preset } from '#lib/types/conversation.ts';
import type { ModelInfo } from '#lib/types/engine.ts';
import type { AppSettings, Effective } from '#lib/types/settings.ts';
import { getLocal, parsed, putLocal } from './local.ts';

const place = 'puna.settings';
const keyPlace = 'puna.key';

const initial: AppSettings = {
  theme: 'system',
  textSize: 100,
  language: 'auto',
  enterSends: true,
  pasteToFile: 2500,
  wrapCode: false,
  showThinking: false,
  showStatistics: true,
  sidebarOpen: true,
  preset: null,
  models: {},
  tools: [],
  keepOnServer: false,
  wasKeptOnServer: false,
  apiKey: '',
  rememberKey: false,
};

// What a stored value has to be, where its type does not say it.
const fits: { [K in keyof AppSettings]?: (value: never) => boolean } = {
  theme: (value: string) => ['system', 'light', 'dark'].includes(value),
  textSize: (value: number) => value >= 50 && value <= 300,
  pasteToFile: (value: number) => value >= 0,
  preset: (value: unknown) => value === null || typeof value === 'string',
  models: (value: unknown) => isDict(value) && Object.values(value).every(isDict),
  tools: (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
};

function isSetting(key: keyof AppSettings, value: unknown): boolean {
  const rule = fits[key] as ((value: unknown) => boolean) | undefined;
  const isKind = key === 'preset' || typeof value === typeof initial[key];
  return isKind && (rule?.(value) ?? true);
}

export class Settings {
  #values = $state.raw<AppSettings>(initial);
  // Of another version of the page: left as they are.
  #others: Dict = {};

  // Assign to a field, it is saved: `settings.app.theme = 'dark'`. Objects are replaced, not changed in place.
  readonly app: AppSettings = new Proxy(initial, {
    get: (_, key) => this.#values[key as keyof AppSettings],
    set: (_, key, value) => this.#set(key as keyof AppSettings, value),
    deleteProperty: () => false,
  });

  constructor() {
    this.#read();
    // Set in another tab.
    globalThis.addEventListener?.('storage', (event) => {
      if (event.key === null || event.key === place || event.key === keyPlace) this.#read();
    });
  }

  // Back to what it is without the reader's doing.
  reset(key: keyof AppSettings): void {
    this.#set(key, initial[key]);
  }

  // What the reader sets for a model; undefined takes it away.
  setForModel(model: string, name: string, value: unknown): void {
    const own: Dict = { ...this.app.models[model], [name]: $state.snapshot(value) };
    if (value === undefined) delete own[name];
    const models = { ...this.app.models, [model]: own };
    if (Object.keys(own).length === 0) delete models[model];
    this.app.models = models;
  }

  // server < model (its own defaults, then what the reader set for it) < preset < chat.
  effective(model: ModelInfo | undefined, preset: Preset | undefined, chat: Dict | undefined): Effective {
    return effective({ model, forModel: model && this.app.models[model.id], preset, chat });
  }

  // What a request has to say: what the reader set (for the model, in the preset, in the chat), as fields of its body.
  // The rest the server and its model know.
  request(model: ModelInfo | undefined, preset: Preset | undefined, chat: Dict | undefined): Dict {
    return request({ model, forModel: model && this.app.models[model.id], preset, chat });
  }

  #set(key: keyof AppSettings, given: unknown): boolean {
    const value: unknown = $state.snapshot(given);
    // An assignment of what it cannot be throws.
    if (!(key in initial) || !isSetting(key, value)) return false;
    this.#values = { ...this.#values, [key]: value };
    const { apiKey, ...rest } = this.#values;
    putLocal(place, JSON.stringify({ ...this.#others, ...rest }));
    if (key === 'apiKey' || key === 'rememberKey') {
      const remember = this.#values.rememberKey;
      putLocal(keyPlace, apiKey === '' ? undefined : apiKey, 'sessionStorage');
      putLocal(keyPlace, apiKey === '' || !remember ? undefined : apiKey);
    }
    return true;
  }

  #read(): void {
    const stored = parsed(getLocal(place));
    const values: Dict = { ...initial };
    this.#others = {};
    for (const [key, value] of Object.entries(isDict(stored) ? stored : {})) {
      if (!(key in initial)) this.#others[key] = value;
      else if (key !== 'apiKey' && isSetting(key as keyof AppSettings, value)) values[key] = value;
    }
    const remembered = values.rememberKey ? getLocal(keyPlace) : undefined;
    values.apiKey = remembered ?? getLocal(keyPlace, 'sessionStorage') ?? '';
    this.#values = values as unknown as AppSettings;
  }
}

export const settings = new Settings();
