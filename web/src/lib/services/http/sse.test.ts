import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type SseEvent, SseReader } from './sse.ts';

const fixture = (name: string) => new Uint8Array(readFileSync(new URL(`./fixtures/${name}`, import.meta.url)));
const bytes = (text: string) => new TextEncoder().encode(text);

function readIn(pieces: Uint8Array[], reader = new SseReader()): { events: SseEvent[]; offset: number } {
  const events = pieces.flatMap((piece) => reader.push(piece));
  return { events, offset: reader.offset };
}

const HARD = bytes('\r\ndata: a\r\ndata:b\r\n\r\n:c\n\nevent: x\rdata\rdata:  two\r\rid: 7\ndata: ünï 🌴\n\ndata: cut');

describe('SseReader', () => {
  for (const [name, all] of [
    ['chat.sse', fixture('chat.sse')],
    ['calls.sse', fixture('calls.sse')],
    ['line ends', HARD],
  ] as const) {
    it(`reads ${name} alike wherever it is cut in two`, () => {
      const whole = readIn([all]);
      expect(whole.events.length).toBeGreaterThan(2);
      const expected = JSON.stringify(whole);
      for (let cut = 0; cut <= all.length; ++cut) {
        const read = JSON.stringify(readIn([all.subarray(0, cut), all.subarray(cut)]));
        if (read !== expected) expect.fail(`Cut at byte ${cut}: ${read}`);
      }
    });

    it(`reads ${name} alike byte by byte, from buffers that are used again`, () => {
      const buffer = new Uint8Array(1);
      const reader = new SseReader();
      const events = [...all].flatMap((byte) => {
        buffer[0] = byte;
        return reader.push(buffer);
      });
      expect({ events, offset: reader.offset }).toEqual(readIn([all]));
    });

    it(`goes on in ${name} behind any event`, () => {
      const { events, offset } = readIn([all]);
      for (const [i, { end }] of events.entries()) {
        const rest = readIn([all.subarray(end)], new SseReader(end));
        expect(rest.events).toEqual(events.slice(i + 1));
        expect(rest.offset).toBe(offset);
      }
    });
  }

  it('counts the bytes up to the end of events and signs of life', () => {
    const reader = new SseReader();
    expect(reader.push(bytes('data: ü\n\n'))).toEqual([{ event: '', data: 'ü', end: 10 }]);
    expect(reader.push(bytes(': ping\n\n'))).toEqual([]);
    expect(reader.offset).toBe(18);
    reader.push(bytes('data: half'));
    expect(reader.offset).toBe(18);
  });

  it('has names and several lines', () => {
    const { events } = readIn([HARD]);
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['', 'a\nb'],
      ['x', '\n two'],
      ['', 'ünï 🌴'],
    ]);
  });

  it('passes over what is left of an event that it begins inside of', () => {
    const all = fixture('calls.sse');
    const { events } = readIn([all]);
    for (let from = events[2]!.end + 1; from < events[3]!.end - 1; ++from) {
      const reader = new SseReader(from, true);
      expect(reader.push(all.subarray(from))).toEqual(events.slice(4));
    }
  });

  it('refuses an event beyond all measure', () => {
    const reader = new SseReader();
    const piece = new Uint8Array(1 << 20).fill(97);
    expect(() => {
      for (let i = 0; i < 40; ++i) reader.push(piece);
    }).toThrow(RangeError);
  });
});
