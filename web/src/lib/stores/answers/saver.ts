// Saves what is written each second while it changes, and at once when the page is hidden or left.

const EVERY_MS = 1_000;

export class Saver {
  #last: unknown;
  readonly #timer: ReturnType<typeof setInterval>;

  // `state`: what to save, a new object whenever it has changed. `alive`: whether there is still something to save to,
  // asked each time. `save` does not reject.
  constructor(
    private readonly state: () => object,
    private readonly alive: () => boolean,
    private readonly save: (state: object) => Promise<void>,
  ) {
    this.#last = state();
    this.#timer = setInterval(this.now, EVERY_MS);
    globalThis.document?.addEventListener('visibilitychange', this.now);
    globalThis.addEventListener?.('pagehide', this.now);
  }

  readonly now = (): void => {
    const state = this.state();
    if (!this.alive() || state === this.#last) return;
    this.#last = state;
    void this.save(state);
  };

  end(): void {
    clearInterval(this.#timer);
    globalThis.document?.removeEventListener('visibilitychange', this.now);
    globalThis.removeEventListener?.('pagehide', this.now);
  }
}
