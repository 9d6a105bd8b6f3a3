import { describe, expect, it } from 'vitest';
import type { Message } from '../../types/conversation.ts';
import type { EngineEvent } from '../../types/engine.ts';
import { GAP, Written } from './written.ts';

const message = (patch: Partial<Message> = {}): Message => ({
  id: 'a',
  convId: 'c',
  parent: 'q',
  order: 2,
  role: 'assistant',
  content: '',
  files: [],
  status: 'writing',
  timestamp: 0,
  ...patch,
});

function write(events: EngineEvent[], start = message(), counts = true, callsBefore = 0): Written {
  let now = 0;
  const written = new Written(start, counts, callsBefore, () => (now += 100));
  for (const event of events) written.apply(event);
  return written;
}

describe('Written', () => {
  it('puts text, thought and calls together', () => {
    const written = write([
      { type: 'thought', text: 'hm ' },
      { type: 'thought', text: 'so' },
      { type: 'text', text: 'Es' },
      { type: 'call', index: 0, id: '1', name: 'calculator', arguments: '{' },
      { type: 'call', index: 1, id: '2', name: 'javascript', arguments: '' },
      { type: 'call', index: 0, arguments: '}' },
    ]);
    expect(written).toMatchObject({ thought: 'hm so', content: 'Es' });
    expect(written.calls).toEqual([
      { id: '1', name: 'calculator', arguments: '{}' },
      { id: '2', name: 'javascript', arguments: '' },
    ]);
    expect(written.thoughtMs).toBeGreaterThan(0);
    expect(written.firstTokenMs).toBeGreaterThan(0);
  });

  it('may be saved up to the last offset only, so that what is read again is not written twice', () => {
    const written = write([
      { type: 'text', text: 'a' },
      { type: 'offset', offset: 9 },
      { type: 'text', text: 'b' },
    ]);
    expect(written.content).toBe('ab');
    expect(written.saved).toEqual({ content: 'a', offset: 9 });
    expect(write([{ type: 'text', text: 'a' }], message(), false).saved).toEqual({ content: 'a' });
  });

  it('is the same object until it changes', () => {
    const written = write([{ type: 'offset', offset: 9 }]);
    const { saved } = written;
    written.apply({ type: 'reading', done: 1, total: 2, cached: 0, ms: 1 });
    expect(written.saved).toBe(saved);
  });

  it('goes on behind what there is, and marks a gap', () => {
    const start = message({ content: 'x', thought: 't', thoughtMs: 5, offset: 3 });
    const written = write([{ type: 'gap' }, { type: 'text', text: 'y' }, { type: 'offset', offset: 90 }], start);
    expect(written.saved).toEqual({ content: `x${GAP}y`, thought: 't', thoughtMs: 5, offset: 90 });
  });

  it('goes on with the calls of its own stream alone', () => {
    const call = (id: string, text: string) => ({ id, name: 'calculator', arguments: text });
    const start = message({ toolCalls: [call('1', '{}'), call('2', '{"expres')] });
    const written = write(
      [
        { type: 'call', index: 0, arguments: 'sion":"1"}' },
        { type: 'call', index: 1, id: '3', name: 'calculator', arguments: '{}' },
        { type: 'call', index: -1, arguments: 'x' },
      ],
      start,
      true,
      1,
    );
    expect(written.calls).toEqual([call('1', '{}'), call('2', '{"expression":"1"}'), call('3', '{}')]);
  });

  it('tells a rate after a moment', () => {
    const pieces = Array.from({ length: 20 }, (): EngineEvent => ({ type: 'text', text: 'a' }));
    const { rate } = write(pieces);
    // A piece each 100 ms.
    expect(rate).toBeCloseTo(10, 0);
    expect(write(pieces.slice(0, 2)).rate).toBeUndefined();
  });

  it('is not blown up by the number of a call', () => {
    const { calls } = write([
      { type: 'call', index: 1e9, arguments: 'x' },
      { type: 'call', index: -1, arguments: 'x' },
    ]);
    expect(calls).toEqual([]);
  });
});
