// Small helpers for waiting.

// Wakes all that wait.
export class Event {
  private wake: () => void = () => undefined;
  private next = this.renew();

  wait(): Promise<void> {
    return this.next;
  }

  notify(): void {
    const wake = this.wake;
    this.next = this.renew();
    wake();
  }

  private renew(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }
}

// Lets other events run; unlike setTimeout without a pause of milliseconds.
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
