// Who uses the engine: texts together, everything else alone, in the order in which they ask.
import { orAborted } from '../errors.js';

export class Turns {
  private alone: Promise<unknown> = Promise.resolve(); // ends with the last that wanted to be alone
  private together: Promise<unknown> = Promise.resolve(); // ends with all others

  // Runs `use` when it may; a signal raised before that makes it fail.
  async take<T>(how: 'alone' | 'together', use: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = how === 'alone' ? Promise.all([this.alone, this.together]) : this.alone;
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    if (how === 'alone') this.alone = ended;
    else this.together = Promise.all([this.together, ended]);
    try {
      await orAborted(before, signal);
      return await use();
    } finally {
      // One that was given up while it waited ends no earlier than those before it.
      void before.then(end, end);
    }
  }
}
