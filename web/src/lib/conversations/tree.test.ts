import { describe, expect, it } from 'vitest';
import { randomOf } from '#lib/base/random.ts';
import type { Id, Message } from '#lib/types/conversation.ts';
import { newMessage } from './new.ts';
import * as tree from './tree.ts';

const messageAt = (id: Id, parent: Id | null, order: number): Message =>
  newMessage({
    id,
    convId: 'c',
    parent,
    order,
    role: parent === null ? 'root' : 'user',
    content: id,
    timestamp: order,
  });

// The same questions, answered the slow way from a plain list.
class Model {
  list: Message[] = [messageAt('root', null, 0)];
  at = (id: Id) => this.list.find((message) => message.id === id);
  children = (id: Id) => this.list.filter((message) => message.parent === id).map((message) => message.id);
  path(id: Id): Id[] {
    const { parent } = this.at(id)!;
    return parent === null ? [] : [...this.path(parent), id];
  }
  below(id: Id): Id[] {
    return [id, ...this.children(id).flatMap((child) => this.below(child))];
  }
  newestLeaf(id: Id): Id {
    const leaves = this.below(id).filter((each) => this.children(each).length === 0);
    return leaves.reduce((a, b) => (this.at(a)!.order > this.at(b)!.order ? a : b));
  }
}

describe('the tree of messages', () => {
  it('answers as a plain model does, through 1,000 random steps', () => {
    const random = randomOf(31);
    const model = new Model();
    let now = tree.treeOf(model.list);
    let order = 0;
    let removals = 0;
    for (let step = 0; step < 1000; ++step) {
      const any = () => model.list[random(model.list.length)]!;
      const what = random(10);
      if (what < 7) {
        // Mostly at the end of a branch, as chats grow.
        const parent = what < 4 ? tree.newestLeaf(now, any().id) : any().id;
        const message = messageAt(`m${++order}`, parent, order);
        model.list.push(message);
        now = tree.withMessages(now, [message]);
      } else if (what < 9) {
        const changed = { ...any(), content: `changed ${step}` };
        model.list = model.list.map((message) => (message.id === changed.id ? changed : message));
        now = tree.withMessages(now, [changed]);
      } else {
        const { id, parent } = any();
        const gone = new Set(model.below(id));
        // Not most of it at once, so that it grows.
        if (parent === null || gone.size > 20) continue;
        ++removals;
        expect(new Set(tree.branchesFrom(now, id).map((message) => message.id))).toEqual(gone);
        const left = tree.leafWithout(now, id);
        model.list = model.list.filter((message) => !gone.has(message.id));
        now = tree.withoutMessages(now, gone);
        expect(now.messages.has(left)).toBe(true);
      }
      const { id } = any();
      expect([...now.messages.values()]).toEqual(model.list);
      expect(tree.childrenOf(now, id)).toEqual(model.children(id));
      expect(tree.pathTo(now, id).map((message) => message.id)).toEqual(model.path(id));
      expect(tree.newestLeaf(now, id)).toBe(model.newestLeaf(id));
      const { parent } = model.at(id)!;
      const beside = parent === null ? [id] : model.children(parent);
      expect(tree.siblingsOf(now, id)).toEqual({ index: beside.indexOf(id), of: beside });
      expect(now.top).toBe(Math.max(...model.list.map((message) => message.order)));
    }
    expect(removals).toBeGreaterThan(20);
    expect(model.list.length).toBeGreaterThan(200);
  });

  it('holds 10,000 messages in one branch', () => {
    const messages = [messageAt('m0', null, 0)];
    for (let i = 1; i <= 10_000; ++i) messages.push(messageAt(`m${i}`, `m${i - 1}`, i));
    const now = tree.treeOf(messages);
    expect(tree.newestLeaf(now, 'm0')).toBe('m10000');
    expect(tree.pathTo(now, 'm10000')).toHaveLength(10_000);
    expect(tree.branchesFrom(now, 'm1')).toHaveLength(10_000);
  });

  it('shows the branch beside a removed one, else what was said before', () => {
    const now = tree.treeOf([
      messageAt('r', null, 0),
      messageAt('q', 'r', 1),
      messageAt('a', 'q', 2),
      messageAt('b', 'q', 3),
      messageAt('c', 'b', 4),
      messageAt('d', 'a', 5),
    ]);
    expect(tree.leafWithout(now, 'b')).toBe('d');
    expect(tree.leafWithout(now, 'a')).toBe('c');
    expect(tree.leafWithout(now, 'd')).toBe('a');
    expect(tree.leafWithout(now, 'q')).toBe('r');
  });

  it('forks the branch down to a message under new ids, and takes no stream along', () => {
    const writing: Message = { ...messageAt('b', 'q', 3), status: 'writing', streamId: 's', offset: 7 };
    const now = tree.treeOf([messageAt('r', null, 0), messageAt('q', 'r', 1), messageAt('a', 'q', 2), writing]);
    let n = 0;
    const fork = tree.forked(now, 'b', 'other', () => `n${n++}`);
    expect(fork.map(({ id, parent, convId, content }) => [id, parent, convId, content])).toEqual([
      ['n0', null, 'other', 'r'],
      ['n1', 'n0', 'other', 'q'],
      ['n2', 'n1', 'other', 'b'],
    ]);
    expect(fork[2]!.status).toBe('cut');
    expect('streamId' in fork[2]! || 'offset' in fork[2]!).toBe(false);
  });

  it('orders messages of the same order alike in every tab', () => {
    const root = messageAt('r', null, 0);
    const one = { ...messageAt('x', 'r', 1), timestamp: 5 };
    const two = { ...messageAt('y', 'r', 1), timestamp: 4 };
    const here = tree.withMessages(tree.treeOf([root, one]), [two]);
    const there = tree.withMessages(tree.treeOf([root, two]), [one]);
    expect(tree.childrenOf(here, 'r')).toEqual(['y', 'x']);
    expect(tree.childrenOf(there, 'r')).toEqual(['y', 'x']);
  });
});
