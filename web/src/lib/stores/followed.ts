// What is read once and then kept the same by news, and read again where news may have been missed. Changes that come
// during a read are applied behind it.

export class Followed<C> {
  // From the beginning: nothing is read yet.
  #early: C[] | undefined = [];
  #reading: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  // `read` shows what is stored, `apply` changes of it.
  constructor(
    private readonly read: () => Promise<void>,
    private readonly apply: (changes: readonly C[]) => void,
  ) {}

  hear(changes: readonly C[]): void {
    if (this.#early) this.#early.push(...changes);
    else this.apply(changes);
  }

  // Ends when a read has ended that was begun after this was called. One follows the other; one is enough for all that
  // ask for it during the one before.
  again(): Promise<void> {
    if (!this.#reading) return (this.#reading = this.#once().finally(() => (this.#reading = undefined)));
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.again();
      });
    return this.#next;
  }

  async #once(): Promise<void> {
    this.#early ??= [];
    await this.read();
    const early = this.#early;
    this.#early = undefined;
    this.apply(early);
  }
}
