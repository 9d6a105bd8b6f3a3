import { describe, expect, it } from 'vitest';
import type { Id, Message } from '#lib/types/conversation.ts';
import { newMessage } from './new.ts';
import { repair } from './repair.ts';
import { pathTo, treeOf } from './tree.ts';

const message = (id: Id, parent: Id | null, order: number, more: Partial<Message> = {}): Message =>
  newMessage({
    id,
    convId: 'c',
    parent,
    order,
    role: parent === null ? 'root' : 'user',
    content: id,
    timestamp: 0,
    ...more,
  });

// All hang together.
function whole(messages: readonly Message[]): boolean {
  const tree = treeOf(messages);
  return (
    messages.every(({ id, parent }) => parent === null || pathTo(tree, id).length > 0) &&
    tree.messages.size === messages.length
  );
}

describe('repair', () => {
  it('changes nothing where all is well', () => {
    const messages = [message('r', null, 0), message('a', 'r', 1), message('b', 'a', 2)];
    expect(repair('c', messages)).toEqual({ messages, changed: [], problems: [] });
  });

  it('puts messages whose parents are missing under the root', () => {
    const { messages, problems } = repair('c', [
      message('r', null, 0),
      message('a', 'gone', 1),
      message('b', 'a', 2),
      message('d', 'lost', 3),
    ]);
    expect(whole(messages)).toBe(true);
    expect(messages.find(({ id }) => id === 'a')!.parent).toBe('r');
    expect(messages.find(({ id }) => id === 'b')!.parent).toBe('a');
    expect(problems).toEqual(['2 messages follow ones that are missing.']);
  });

  it('opens circles, of one, two and many, and keeps what hangs on them', () => {
    const many = Array.from({ length: 500 }, (_, i) => message(`m${i}`, `m${(i + 1) % 500}`, i + 10));
    const { messages, problems } = repair('c', [
      message('r', null, 0),
      message('own', 'own', 1),
      message('x', 'y', 2),
      message('y', 'x', 3),
      message('tail', 'y', 4),
      ...many,
    ]);
    expect(messages).toHaveLength(505);
    expect(whole(messages)).toBe(true);
    expect(problems).toEqual(['3 messages follow themselves in a circle.']);
  });

  it('gives doubles new ids and passes over what is twice the same', () => {
    const { messages, problems } = repair('c', [
      message('r', null, 0),
      message('a', 'r', 1),
      message('a', 'r', 2),
      message('a', 'r', 3, { content: 'another' }),
    ]);
    expect(messages).toHaveLength(3);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(3);
    expect(whole(messages)).toBe(true);
    expect(problems).toEqual(['One message has the id of another; it got a new one.']);
  });

  it('makes the root that is missing, under the id by which messages call it', () => {
    const { messages, problems } = repair('c', [
      message('a', 'root', 1),
      message('b', 'root', 2),
      message('c', 'b', 3),
    ]);
    expect(messages.find(({ parent }) => parent === null)).toMatchObject({ id: 'root', role: 'root', order: 0 });
    expect(whole(messages)).toBe(true);
    expect(problems).toEqual([]);
  });

  it('makes one root of several, and one of nothing', () => {
    const { messages } = repair('c', [
      message('r', null, 0),
      message('s', null, 1),
      message('a', 's', 2),
      message('u', null, 3, { role: 'user' }),
    ]);
    expect(whole(messages)).toBe(true);
    expect(messages.filter(({ parent }) => parent === null)).toHaveLength(1);
    expect(repair('c', []).messages).toHaveLength(1);
  });
});
