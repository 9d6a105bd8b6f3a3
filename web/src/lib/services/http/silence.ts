// Watches that a connection is not silent for too long. Servers show every 30 seconds that they live, so longer silence
// is a loss, however long a prompt takes.

export const MAX_SILENCE_MS = 75_000;
const TICK_MS = 5_000;

export class Silence {
  #silentMs = 0;
  #last = performance.now();
  readonly #timer: ReturnType<typeof setInterval>;

  // `tooLong` is called each time that nothing was heard for MAX_SILENCE_MS.
  constructor(tooLong: () => void) {
    this.#timer = setInterval(() => {
      const now = performance.now();
      // A page that was frozen hears nothing; what came meanwhile is read first, before it counts as silence.
      this.#silentMs += Math.min(now - this.#last, 2 * TICK_MS);
      this.#last = now;
      if (this.#silentMs < MAX_SILENCE_MS) return;
      this.#silentMs = 0;
      tooLong();
    }, TICK_MS);
  }

  heard(): void {
    this.#silentMs = 0;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
