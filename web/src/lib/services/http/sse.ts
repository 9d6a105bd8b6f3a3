// Server-sent events, read by bytes, so that a stream that was cut can be asked for from the byte behind the last whole
// event. Source: the HTML standard, section "Server-sent events".

export interface SseEvent {
  // Its name; '' where it has none.
  event: string;
  data: string;
  // Bytes of the stream up to the end of this event.
  end: number;
}

// No event of a server that means well is as long.
const MAX_EVENT_BYTES = 32 << 20;

const LF = 10;
const CR = 13;

export class SseReader {
  readonly #decoder = new TextDecoder();
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  #eventBytes = 0;
  #data: string[] = [];
  #event = '';
  #afterCr = false;
  #at: number;
  #offset: number;
  #skips: boolean;

  // `from`: the byte of the stream that the first byte is. `skips`: this is no beginning of an event, so what stands
  // before the first blank line is passed over.
  constructor(from = 0, skips = false) {
    this.#at = from;
    this.#offset = from;
    this.#skips = skips;
  }

  // Bytes of the stream up to the end of the last event or sign of life.
  get offset(): number {
    return this.#offset;
  }

  // The events that end in these bytes. Throws RangeError for an event beyond all measure.
  push(bytes: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    let start = 0;
    for (let i = 0; i < bytes.length; ++i) {
      const byte = bytes[i];
      if (byte !== LF && byte !== CR) {
        this.#afterCr = false;
        continue;
      }
      // The second half of a line's end that was counted with its first.
      const second = byte === LF && this.#afterCr;
      this.#afterCr = byte === CR;
      if (!second) {
        this.#keep(bytes.subarray(start, i));
        this.#endLine(this.#at + i + 1, events);
      }
      start = i + 1;
    }
    this.#keep(bytes.subarray(start));
    this.#at += bytes.length;
    return events;
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#eventBytes += bytes.length;
    if (this.#eventBytes > MAX_EVENT_BYTES) {
      throw new RangeError(`An event of the stream has more than ${MAX_EVENT_BYTES} bytes.`);
    }
    // What was handed in may be used again by whoever reads.
    this.#line.push(bytes.slice());
    this.#lineBytes += bytes.length;
  }

  #endLine(end: number, events: SseEvent[]): void {
    const line = this.#takeLine();
    if (line !== '') {
      if (!this.#skips) this.#field(line);
      return;
    }
    if (!this.#skips && this.#data.length > 0) events.push({ event: this.#event, data: this.#data.join('\n'), end });
    this.#skips = false;
    this.#data = [];
    this.#event = '';
    this.#eventBytes = 0;
    this.#offset = end;
  }

  #takeLine(): string {
    const whole = new Uint8Array(this.#lineBytes);
    let at = 0;
    for (const piece of this.#line) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#line = [];
    this.#lineBytes = 0;
    return this.#decoder.decode(whole);
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const rest = colon < 0 ? '' : line.slice(colon + 1);
    const value = rest.startsWith(' ') ? rest.slice(1) : rest;
    if (name === 'data') this.#data.push(value);
    if (name === 'event') this.#event = value;
  }
}
