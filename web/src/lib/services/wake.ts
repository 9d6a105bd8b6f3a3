// Sleep that ends early when the network is back, when the tab is seen again, or by hand.

export class Waker {
  readonly #sleepers = new Set<() => void>();

  wake(): void {
    for (const end of [...this.#sleepers]) end();
  }

  // Wakes whenever the tab or the network comes back, until the function that it gives is called.
  listen(): () => void {
    const wake = () => this.wake();
    const seen = () => document.visibilityState === 'visible' && this.wake();
    addEventListener('online', wake);
    addEventListener('pageshow', wake);
    document.addEventListener('visibilitychange', seen);
    return () => {
      removeEventListener('online', wake);
      removeEventListener('pageshow', wake);
      document.removeEventListener('visibilitychange', seen);
    };
  }

  // Rejects with the signal's reason.
  readonly sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const end = () => {
        clearTimeout(timer);
        this.#sleepers.delete(end);
        signal.removeEventListener('abort', end);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      const timer = setTimeout(end, ms);
      this.#sleepers.add(end);
      signal.addEventListener('abort', end);
    });
}
