// When texts are kept: requests take up what is kept of them, and when the last one is over the engine's texts are saved, until a new
// request comes.
import type { Turns } from '../engine/turns.js';
import type { KeptPrefixes } from './kept_prefixes.js';

export class TextKeeper {
  private running = 0;
  private stop = new AbortController();
  private saving: Promise<void> = Promise.resolve();

  constructor(
    private readonly kept: Pick<KeptPrefixes, 'takeUp' | 'saveTexts'>,
    private readonly turns: Turns,
  ) {}

  // Runs a request that writes a text.
  async write<T>(kind: 'chat' | 'complete', request: object, run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.stop.abort();
    ++this.running;
    try {
      const all = async () => {
        await this.kept.takeUp(kind, request);
        return run();
      };
      return await this.turns.take('together', all, signal);
    } finally {
      if (--this.running === 0) this.save();
    }
  }

  // What is being saved is saved.
  async settled(): Promise<void> {
    await this.saving;
  }

  private save(): void {
    const stop = (this.stop = new AbortController());
    const saving = this.turns.take('alone', () => this.kept.saveTexts(stop.signal), stop.signal);
    this.saving = saving.catch(() => undefined); // another request came before it began
  }
}
