// When what has come of answers is shown: with each frame. While one types it is less often, all answers at once, so that keys find the page
// idle: in a long chat a frame with new text takes longer than a key may.
import type { Frame } from './live.svelte.ts';

// Who has typed nothing for so long types no more.
const TYPING_MS = 1_000;
// Then text is shown so often a second.
const SHOWN_WHILE_TYPING = 12;

export interface Clock {
  now(): number;
  later(ms: number, run: () => void): void;
  // A hidden page has no frames; what came meanwhile is shown with the first.
  nextFrame(run: () => void): void;
}

const ofPage: Clock = {
  now: () => performance.now(),
  later: (ms, run) => void setTimeout(run, ms),
  nextFrame: (run) => void requestAnimationFrame(run),
};

export class Pace {
  #typedAt = -Infinity;

  constructor(private readonly clock: Clock = ofPage) {}

  // Hears of what is typed in any field; gives the function that ends it.
  listen(): () => void {
    const typed = () => this.typed();
    addEventListener('input', typed, { capture: true, passive: true });
    return () => removeEventListener('input', typed, { capture: true });
  }

  typed(): void {
    this.#typedAt = this.clock.now();
  }

  readonly frame: Frame = (render) => {
    const now = this.clock.now();
    if (now - this.#typedAt > TYPING_MS) return this.clock.nextFrame(render);
    const every = 1_000 / SHOWN_WHILE_TYPING;
    this.clock.later(every - (now % every), () => this.clock.nextFrame(render));
  };
}
