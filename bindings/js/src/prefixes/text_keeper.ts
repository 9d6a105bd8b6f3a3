// When texts are kept: requests take up what is kept of them, and when the last one is over the engine's texts are saved, until a new
// request comes.
import type { KeptPrefixes } from './kept_prefixes.js';

export class TextKeeper {
  private running = 0;
  private stop = new AbortController();
  private saving: Promise<void> = Promise.resolve();

  constructor(private readonly kept: Pick<KeptPrefixes, 'takeUp' | 'saveTexts'>) {}

  // Runs a request that writes a text.
  async write<T>(kind: 'chat' | 'complete', request: object, run: () => Promise<T>): Promise<T> {
    this.stop.abort();
    ++this.running;
    try {
      await this.kept.takeUp(kind, request);
      return await run();
    } finally {
      if (--this.running === 0) this.save();
    }
  }

  // What is being saved is saved.
  async settled(): Promise<void> {
    await this.saving;
  }

  // One after the other: what was stopped ends at the next page.
  private save(): void {
    const stop = (this.stop = new AbortController());
    this.saving = this.saving.then(() => (stop.signal.aborted ? undefined : this.kept.saveTexts(stop.signal))).catch(() => undefined);
  }
}
