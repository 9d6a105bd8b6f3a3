// System prompts and parameters under a name.
import type { Id, Preset } from '#lib/types/conversation.ts';

class Presets {
  // By name.
  list = $state.raw<readonly Preset[]>([]);
  ready = $state(false);

  get(id: Id | null | undefined): Preset | undefined {
    return this.list.find((one) => one.id === id);
  }
  async create(from: Partial<Omit<Preset, 'id'>> & { name: string }): Promise<Preset> {
    throw new Error(`not yet ${from}`);
  }
  async update(id: Id, patch: Partial<Omit<Preset, 'id'>>): Promise<void> {
    throw new Error(`not yet ${id} ${patch}`);
  }
  async remove(id: Id): Promise<() => Promise<void>> {
    throw new Error(`not yet ${id}`);
  }
}

export const presets = new Presets();
