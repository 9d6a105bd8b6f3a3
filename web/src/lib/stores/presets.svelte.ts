// System prompts and parameters under a name.
import { newId } from '#lib/base/ids.ts';
import { storage as theStorage, type Listener, type Storage } from '#lib/storage/storage.ts';
import { patched, type Change, type Patch } from '#lib/storage/tables.ts';
import type { Id, Preset } from '#lib/types/conversation.ts';
import { afterPaint } from './after_paint.ts';
import { Followed } from './followed.ts';

export class Presets {
  #list = $state.raw<readonly Preset[]>([]);
  #ready = $state(false);
  #starting: Promise<void> | undefined;
  #followed = new Followed<Change>(
    () => this.#read(),
    (changes) => this.#apply(changes),
  );

  constructor(readonly storage: Storage) {
    storage.listen((news) => this.#hear(news));
  }

  // By name.
  get list(): readonly Preset[] {
    return this.#list;
  }
  get ready(): boolean {
    return this.#ready;
  }
  get(id: Id | null | undefined): Preset | undefined {
    return this.list.find((one) => one.id === id);
  }

  start(): Promise<void> {
    this.#starting ??= this.#followed.again();
    return this.#starting;
  }

  async create(from: Partial<Omit<Preset, 'id'>> & { name: string }): Promise<Preset> {
    const preset: Preset = {
      system: '',
      parameters: {},
      whenThinking: {},
      whenNotThinking: {},
      ...($state.snapshot(from) as typeof from),
      id: newId(),
      lastModified: Date.now(),
    };
    await this.#commit({ table: 'presets', put: [preset] });
    return preset;
  }

  async update(id: Id, patch: Patch<Omit<Preset, 'id'>>): Promise<void> {
    const own = { ...($state.snapshot(patch) as Patch<Preset>), lastModified: Date.now() };
    await this.#commit({ table: 'presets', key: id, patch: own });
  }

  // Chats that chose it hold no preset then. Gives the undo.
  async remove(id: Id): Promise<() => Promise<void>> {
    await this.start();
    const preset = this.get(id);
    await this.#commit({ table: 'presets', remove: [id] });
    return async () => preset && this.#commit({ table: 'presets', put: [preset] });
  }

  async #commit(change: Change): Promise<void> {
    await this.start();
    await this.storage.commit([change]);
  }

  async #read(): Promise<void> {
    this.#show(await this.storage.all('presets'));
    this.#ready = true;
  }

  #hear(news: Parameters<Listener>[0]): void {
    if ('changes' in news) this.#followed.hear(news.changes);
    else if (this.#starting) this.#starting = this.#followed.again();
  }

  #apply(changes: readonly Change[]): void {
    const byId = new Map(this.list.map((preset) => [preset.id, preset]));
    for (const change of changes) {
      if (change.table !== 'presets') continue;
      if ('put' in change) for (const preset of change.put) byId.set(preset.id, preset);
      else if ('remove' in change) for (const id of change.remove) byId.delete(id);
      else if (byId.has(change.key)) byId.set(change.key, patched(byId.get(change.key)!, change.patch));
    }
    this.#show([...byId.values()]);
  }

  #show(presets: Iterable<Preset>): void {
    this.#list = [...presets].sort((a, b) => a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
  }
}

export const presets = new Presets(theStorage);
afterPaint(() => void presets.start());
