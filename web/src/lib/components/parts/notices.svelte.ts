// Short notices at the foot of the page, and the one text that screen readers are told.
export interface Notice {
  id: number;
  text: string;
  action?: { label: string; run: () => unknown };
  bad?: boolean;
}

class Notices {
  list = $state.raw<Notice[]>([]);
  spoken = $state('');
  #next = 0;
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();

  show(text: string, more: Omit<Notice, 'id' | 'text'> = {}) {
    const id = this.#next++;
    this.list = [...this.list.slice(-2), { id, text, ...more }];
    this.speak(text);
    this.release(id, more.action ? 10_000 : 5_000);
  }

  // Who has the focus or the pointer on it is not done with it.
  hold(id: number) {
    clearTimeout(this.#timers.get(id));
  }
  release(id: number, ms = 5_000) {
    this.hold(id);
    this.#timers.set(
      id,
      setTimeout(() => this.hide(id), ms),
    );
  }

  hide(id: number) {
    this.hold(id);
    this.#timers.delete(id);
    this.list = this.list.filter((one) => one.id !== id);
  }

  speak(text: string) {
    // The same text twice would not be spoken again.
    this.spoken = text === this.spoken ? `${text}\u00a0` : text;
  }

  // For what a button began and nobody waits for.
  async guard<T>(work: Promise<T>, failed: (why: string) => string): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      this.show(failed(error instanceof Error ? error.message : String(error)), { bad: true });
      return undefined;
    }
  }
}

export const notices = new Notices();
