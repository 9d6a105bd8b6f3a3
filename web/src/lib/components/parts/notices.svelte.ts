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

  show(text: string, more: Omit<Notice, 'id' | 'text'> = {}) {
    const id = this.#next++;
    this.list = [...this.list.slice(-2), { id, text, ...more }];
    this.speak(text);
    setTimeout(() => this.hide(id), more.action ? 10_000 : 5_000);
  }

  hide(id: number) {
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
