import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Storage } from '#lib/storage/storage.ts';
import { Presets } from './presets.svelte.ts';
import { Settings } from './settings.svelte.ts';

const places = { localStorage: new Map<string, string>(), sessionStorage: new Map<string, string>() };

beforeEach(() => {
  for (const [name, kept] of Object.entries(places)) {
    kept.clear();
    const value = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, text: string) => void kept.set(key, text),
      removeItem: (key: string) => void kept.delete(key),
    };
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
});

describe('settings', () => {
  it('are kept', () => {
    const settings = new Settings();
    settings.app.theme = 'dark';
    settings.app.textSize = 125;
    settings.app.models = { m: { top_k: 3 } };
    const again = new Settings();
    expect({ ...again.app }).toMatchObject({
      theme: 'dark',
      textSize: 125,
      models: { m: { top_k: 3 } },
      enterSends: true,
    });
    again.reset('theme');
    expect(new Settings().app.theme).toBe('system');
  });

  it('of another version are left as they are, and what does not fit is passed over', () => {
    places.localStorage.set(
      'puna.settings',
      JSON.stringify({ future: [1], theme: 'pink', textSize: 9000, tools: ['a'], models: [] }),
    );
    const settings = new Settings();
    expect({ ...settings.app }).toMatchObject({ theme: 'system', textSize: 100, tools: ['a'], models: {} });
    settings.app.wrapCode = true;
    expect(JSON.parse(places.localStorage.get('puna.settings')!)).toMatchObject({ future: [1], wrapCode: true });
    places.localStorage.set('puna.settings', 'no JSON');
    expect(new Settings().app.theme).toBe('system');
    expect(() => {
      settings.app.textSize = NaN;
    }).toThrow();
  });

  it('keep the key in the tab alone unless it is to be remembered', () => {
    const settings = new Settings();
    settings.app.apiKey = 'secret';
    expect([...places.localStorage.values()].join()).not.toContain('secret');
    expect(new Settings().app.apiKey).toBe('secret');
    places.sessionStorage.clear();
    expect(new Settings().app.apiKey).toBe('');
    settings.app.rememberKey = true;
    places.sessionStorage.clear();
    const again = new Settings();
    expect(again.app.apiKey).toBe('secret');
    again.app.rememberKey = false;
    expect([...places.localStorage.values()].join()).not.toContain('secret');
    expect(places.localStorage.get('puna.settings')).not.toContain('secret');
  });

  it('work where the browser keeps nothing', () => {
    for (const name of Object.keys(places)) {
      Object.defineProperty(globalThis, name, {
        configurable: true,
        get: () => {
          throw new DOMException('Denied.', 'SecurityError');
        },
      });
    }
    const settings = new Settings();
    settings.app.theme = 'light';
    settings.app.apiKey = 'k';
    expect(settings.app.theme).toBe('light');
    expect(settings.app.apiKey).toBe('k');
  });

  it('for a model come before its own and behind those of the preset', () => {
    const settings = new Settings();
    const model = {
      id: 'm',
      runsOn: 'server' as const,
      state: 'loaded' as const,
      images: false,
      audio: false,
      thinks: false,
      tools: false,
      thinkingSwitch: false,
      efforts: [],
      here: true,
      switchable: false,
      removable: false,
      defaults: { top_k: 1 },
    };
    settings.setForModel('m', 'top_k', 2);
    expect(settings.effective(model, undefined, undefined)).toMatchObject({
      values: { top_k: 2 },
      origin: { top_k: 'model' },
    });
    expect(settings.request(model, undefined, { top_k: 4 })).toEqual({ top_k: 4 });
    settings.setForModel('m', 'top_k', undefined);
    expect(settings.app.models).toEqual({});
    expect(settings.effective(model, undefined, undefined).values.top_k).toBe(1);
  });
});

describe('presets', () => {
  it('are kept, follow other tabs and come back when their removal is undone', async () => {
    const [one, two] = [new Presets(new Storage('presets-test')), new Presets(new Storage('presets-test'))];
    await two.start();
    const preset = await one.create({ name: 'Short', system: 'Be short.', whenThinking: { temperature: 0.6 } });
    await one.create({ name: 'Long' });
    await one.update(preset.id, { parameters: { top_k: 2 } });
    await vi.waitFor(() => expect(two.get(preset.id)).toMatchObject({ parameters: { top_k: 2 }, system: 'Be short.' }));
    expect(two.list.map(({ name }) => name)).toEqual(['Long', 'Short']);
    const undo = await two.remove(preset.id);
    await vi.waitFor(() => expect(one.list).toHaveLength(1));
    await undo();
    await vi.waitFor(() => expect(one.get(preset.id)).toEqual(two.get(preset.id)));
    one.storage.close();
    two.storage.close();
  });
});
