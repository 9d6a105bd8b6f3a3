import { describe, expect, it } from 'vitest';
import { Pace, type Clock } from './pace.ts';

// A second has 60 frames, and text comes before each.
class Second implements Clock {
  // Not where the 12th parts of a second meet.
  #now = 3;
  #timers: { at: number; run: () => void }[] = [];
  #frame: (() => void)[] = [];

  now = () => this.#now;
  later = (ms: number, run: () => void) => void this.#timers.push({ at: this.#now + ms, run });
  nextFrame = (run: () => void) => void this.#frame.push(run);

  pass(arrives: () => void): void {
    for (let i = 0; i < 60; i++) {
      arrives();
      this.#now += 1_000 / 60;
      const due = this.#timers.filter(({ at }) => at <= this.#now);
      this.#timers = this.#timers.filter(({ at }) => at > this.#now);
      due.forEach(({ run }) => run());
      this.#frame.splice(0).forEach((run) => run());
    }
  }
}

describe('the pace at which arriving text is shown', () => {
  // Like an answer: asks for a frame unless it waits for one.
  function answer(pace: Pace) {
    let waits = false;
    const shown: number[] = [];
    return {
      shown,
      arrives(now: number) {
        if (waits) return;
        waits = true;
        pace.frame(() => {
          waits = false;
          shown.push(now);
        });
      },
    };
  }

  it('is that of frames, 12 times a second while one types, and that of frames again', () => {
    const clock = new Second();
    const pace = new Pace(clock);
    const one = answer(pace);
    const second = (types: boolean) => {
      one.shown.length = 0;
      clock.pass(() => {
        if (types) pace.typed();
        one.arrives(clock.now());
      });
      return one.shown.length;
    };
    expect(second(false)).toBe(60);
    expect(second(true)).toBe(12);
    expect(second(true)).toBe(12);
    // The last letter holds for a second.
    expect(second(false)).toBeLessThan(15);
    expect(second(false)).toBe(60);
  });

  it('shows several answers in the same frames while one types', () => {
    const clock = new Second();
    const pace = new Pace(clock);
    const frames: number[] = [];
    const waits = [false, false];
    let count = 0;
    clock.pass(() => {
      pace.typed();
      // The second one's text begins later and comes less often.
      for (const i of [0, 1]) {
        if (waits[i] || (i === 1 && count++ % 7)) continue;
        waits[i] = true;
        pace.frame(() => {
          waits[i] = false;
          frames.push(clock.now());
        });
      }
    });
    expect(new Set(frames).size).toBeLessThanOrEqual(12);
    expect(frames.length).toBeGreaterThan(12);
  });
});
