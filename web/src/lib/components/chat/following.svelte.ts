// Whether the view of a chat follows what is written: while its reader is at the end, or has not scrolled away from it.

// What a hand does is seen in the view within so long, on busy machines too.
const HAND_MS = 1_000;
// So near is at the end.
const NEAR_PX = 48;

export class Following {
  on = $state(true);

  #scroller: HTMLElement | undefined;
  #top = 0;
  #height = 0;
  #handAt = -Infinity;
  #pressed = false;

  // The element that scrolls.
  readonly scrolls = (scroller: HTMLElement) => {
    this.#scroller = scroller;
    const ends = new AbortController();
    const options = { passive: true, signal: ends.signal };
    const hand = () => (this.#handAt = performance.now());
    for (const type of ['wheel', 'touchmove', 'keydown']) scroller.addEventListener(type, hand, options);
    scroller.addEventListener('pointerdown', () => (this.#pressed = true), options);
    for (const type of ['pointerup', 'pointercancel'] as const) addEventListener(type, () => this.#release(), options);
    scroller.addEventListener('scroll', () => this.#scrolled(), options);
    // A line above it, or the keyboard of a phone, takes from its height.
    const sizes = new ResizeObserver(() => {
      if (this.on) this.#goToEnd();
    });
    sizes.observe(scroller);
    return () => {
      ends.abort();
      sizes.disconnect();
      this.#scroller = undefined;
    };
  };

  // What grows in it. `holds`: the view is elsewhere for a moment, on purpose.
  readonly grows = (holds: () => boolean) => (content: HTMLElement) => {
    const sizes = new ResizeObserver(() => {
      if (this.on && !holds()) this.#goToEnd();
    });
    sizes.observe(content);
    return () => sizes.disconnect();
  };

  toEnd(): void {
    this.on = true;
    this.#goToEnd();
  }

  // Behind a move that was no hand's: from where the end is in sight nothing is to be scrolled to.
  look(): void {
    this.on = this.#isAtEnd();
  }

  #isAtEnd(): boolean {
    if (!this.#scroller) return true;
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  }

  #goToEnd(): void {
    if (this.#scroller) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #release(): void {
    if (this.#pressed) this.#handAt = performance.now();
    this.#pressed = false;
  }

  #scrolled(): void {
    const { scrollTop, scrollHeight } = this.#scroller!;
    if (this.#isAtEnd()) this.on = true;
    else if (scrollTop < this.#top - 1 && this.#isByHand(scrollHeight)) this.on = false;
    this.#top = scrollTop;
    this.#height = scrollHeight;
  }

  // Heights of rows are guesses until they are laid out. Where they turn out to be lower the view moves up by itself, and what was written
  // meanwhile is below it: that is no wish to read there. Nothing moves by itself where heights stay.
  #isByHand(height: number): boolean {
    return this.#pressed || performance.now() - this.#handAt < HAND_MS || height === this.#height;
  }
}
