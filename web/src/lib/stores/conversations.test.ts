import 'fake-indexeddb/auto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Storage } from '#lib/storage/storage.ts';
import { newConversation, newMessage, newRoot } from '#lib/conversations/new.ts';
import type { Message } from '#lib/types/conversation.ts';
import { Conversations } from './conversations.svelte.ts';
import { Presets } from './presets.svelte.ts';

let count = 0;
const tabs: Storage[] = [];
const aName = () => `conversations-test-${++count}`;
function tab(name: string): Conversations {
  const storage = new Storage(name);
  tabs.push(storage);
  return new Conversations(storage);
}
afterEach(() => {
  for (const storage of tabs.splice(0)) storage.close();
});

async function chat(store: Conversations) {
  const { id } = await store.create();
  const open = await store.open(id);
  const question = await open.add({ parent: open.root, role: 'user', content: 'What is a puna?' });
  const answer = await open.add({ parent: question.id, role: 'assistant', content: 'A grassland.' });
  return { id, open, question, answer };
}
const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id);

describe('conversations', () => {
  it('grow, branch and show the branch that was chosen', async () => {
    const { open, question, answer } = await chat(tab(aName()));
    expect(idsOf(open.path)).toEqual([question.id, answer.id]);
    const other = await open.add({ parent: question.id, role: 'assistant', content: 'A plateau.', status: 'writing' });
    expect(idsOf(open.path)).toEqual([question.id, other.id]);
    expect(open.siblings(other.id)).toEqual({ index: 1, of: [answer.id, other.id] });
    open.branch(answer.id);
    expect(idsOf(open.path)).toEqual([question.id, answer.id]);
    // A branch that is not shown grows without being shown.
    const result = await open.add({ parent: other.id, role: 'tool', content: '42' });
    expect(idsOf(open.path)).toEqual([question.id, answer.id]);
    open.branch(other.id);
    expect(idsOf(open.path)).toEqual([question.id, other.id, result.id]);
  });

  it('take their name from the first question, unless they have one', async () => {
    const store = tab(aName());
    const { id } = await chat(store);
    expect(store.get(id)!.name).toBe('What is a puna?');
    await store.rename(id, '  Grass  ');
    const open = await store.open(id);
    await open.add({ parent: open.root, role: 'user', content: 'Another' });
    expect(store.get(id)!.name).toBe('Grass');
  });

  it('keep messages that are done as they are', async () => {
    const { open, answer, question } = await chat(tab(aName()));
    await expect(open.change(answer.id, { content: 'else' })).rejects.toThrow('is done: its content does not change');
    await open.change(answer.id, { status: 'writing' });
    await open.change(answer.id, { content: 'A grassland, high up.', thought: 'hm' });
    await open.change(answer.id, {
      status: 'done',
      timings: { promptTokens: 1, cachedTokens: 0, promptMs: 1, answerTokens: 1, answerMs: 1, firstTokenMs: 1 },
    });
    expect(open.messages.get(answer.id)).toMatchObject({ content: 'A grassland, high up.', status: 'done' });
    const undo = await open.rewrite(question.id, { content: 'What is it?' });
    expect(open.messages.get(question.id)!.content).toBe('What is it?');
    await undo();
    expect(open.messages.get(question.id)!.content).toBe('What is a puna?');
    await open.change('deleted meanwhile', { content: 'x' });
    await expect(open.add({ parent: 'nowhere', role: 'user', content: '' })).rejects.toThrow(
      'not in this conversation',
    );
  });

  it('are the same after they are read again', async () => {
    const name = aName();
    const store = tab(name);
    const { id, open } = await chat(store);
    await store.pin(id, true);
    await store.update(id, { settings: { top_k: 3 } });
    const again = tab(name);
    const opened = await again.open(id);
    expect(opened.conversation).toEqual(open.conversation);
    expect([...opened.messages.values()]).toEqual([...open.messages.values()]);
    expect(again.list).toHaveLength(1);
    await expect(again.open('none')).rejects.toThrow('no conversation "none"');
  });

  it('are removed with what follows, and come back', async () => {
    const store = tab(aName());
    const { id, open, question, answer } = await chat(store);
    const before = [...open.messages.values()];
    const undoMessage = await open.removeFrom(answer.id);
    expect(idsOf(open.path)).toEqual([question.id]);
    await undoMessage();
    expect(idsOf(open.path)).toEqual([question.id, answer.id]);
    await store.storage.commit([{ table: 'drafts', put: [{ id, text: 'typed', files: [], lastModified: 1 }] }]);
    const undo = await store.remove([id]);
    expect(store.list).toEqual([]);
    expect(open.gone).toBe(true);
    expect(await store.storage.messagesOf(id)).toEqual([]);
    expect(await store.storage.all('drafts')).toEqual([]);
    await undo();
    expect(open.gone).toBe(false);
    expect([...open.messages.values()]).toEqual(before);
    expect(await store.storage.messagesOf(id)).toEqual(before);
    expect(await store.storage.all('drafts')).toHaveLength(1);
  });

  it('fork: the branch down to a message as one of its own', async () => {
    const store = tab(aName());
    const { id, open, question } = await chat(store);
    const fork = await store.fork(id, question.id);
    const opened = await store.open(fork.id);
    expect(opened.path.map(({ content }) => content)).toEqual(['What is a puna?']);
    expect(fork.forkedFrom).toEqual({ convId: id, messageId: question.id });
    await opened.add({ parent: opened.path[0]!.id, role: 'assistant', content: 'else' });
    expect(open.messages.size).toBe(3);
  });

  it('begin with a system message where one is given', async () => {
    const store = tab(aName());
    const { id } = await store.create({ system: 'Be short.', model: 'm', runsOn: 'tab' });
    const open = await store.open(id);
    expect(open.path).toMatchObject([{ role: 'system', content: 'Be short.' }]);
    expect(open.conversation).toMatchObject({ model: 'm', runsOn: 'tab' });
  });

  it('open whole where the database is damaged', async () => {
    const name = aName();
    const store = tab(name);
    const root = newRoot('a');
    const orphan = newMessage({ id: 'x', convId: 'a', parent: 'lost', order: 1, role: 'user', content: 'left' });
    await store.storage.commit([
      { table: 'conversations', put: [newConversation({ id: 'a', currNode: 'gone' })] },
      { table: 'messages', put: [root, orphan] },
    ]);
    const open = await store.open('a');
    expect(open.path.map(({ content }) => content)).toEqual(['left']);
    expect((await store.storage.messagesOf('a')).find(({ id }) => id === 'x')!.parent).toBe(root.id);
  });
});

describe('two tabs', () => {
  it('see one state', async () => {
    const name = aName();
    const one = tab(name);
    const two = tab(name);
    await two.start();
    const { id, open, question, answer } = await chat(one);
    await vi.waitFor(() => expect(two.list.map((each) => each.id)).toEqual([id]));
    const there = await two.open(id);
    expect([...there.messages.values()]).toEqual([...open.messages.values()]);
    // One writes, the other branches and renames, at once.
    await Promise.all([
      open.change(answer.id, { status: 'writing' }),
      there.add({ parent: question.id, role: 'assistant', content: 'there' }),
      two.rename(id, 'Renamed'),
      one.pin(id, true),
    ]);
    await open.change(answer.id, { content: 'longer' });
    await vi.waitFor(() => {
      expect(one.get(id)).toEqual(two.get(id));
      expect([...open.messages.values()]).toEqual([...there.messages.values()]);
    });
    expect(one.get(id)).toMatchObject({ name: 'Renamed', pinned: true });
    expect(open.messages.get(answer.id)!.content).toBe('longer');
    expect(open.children(question.id)).toHaveLength(2);
    expect(idsOf(open.path)).toEqual(idsOf(there.path));
    const undo = await two.remove([id]);
    await vi.waitFor(() => expect(open.gone).toBe(true));
    expect(one.list).toEqual([]);
    await undo();
    await vi.waitFor(() => expect(open.gone).toBe(false));
    expect(open.messages.size).toBe(4);
  });

  it('see what is said while a conversation is being read', async () => {
    const name = aName();
    const one = tab(name);
    const { id, open, answer } = await chat(one);
    const two = tab(name);
    const opening = two.open(id);
    const more = await open.add({ parent: answer.id, role: 'user', content: 'and then?' });
    const there = await opening;
    await vi.waitFor(() => expect(there.messages.has(more.id)).toBe(true));
    expect(there.messages.size).toBe(4);
  });
});

describe('another version of the page in another tab', () => {
  const putUntold = (name: string, message: Message) =>
    new Promise<void>((resolve) => {
      const request = indexedDB.open(name);
      request.onsuccess = () => {
        const transaction = request.result.transaction('messages', 'readwrite');
        transaction.objectStore('messages').put(message);
        transaction.oncomplete = () => (request.result.close(), resolve());
      };
    });

  it('makes all be read again, however often it says something', async () => {
    const name = aName();
    const store = tab(name);
    const presets = new Presets(store.storage);
    const preset = await presets.create({ name: 'Short' });
    const { id, open, answer } = await chat(store);
    const late = newMessage({ id: 'late', convId: id, parent: answer.id, order: 9, role: 'user', content: 'and then?' });
    await putUntold(name, late);
    const other = new BroadcastChannel(name);
    for (let i = 0; i < 3; ++i) other.postMessage({ form: 0 });
    await vi.waitFor(() => expect(open.messages.has('late')).toBe(true));
    other.close();
    await Promise.all([
      store.rename(id, 'Renamed'),
      presets.update(preset.id, { system: 'Be short.' }),
      open.change(answer.id, { status: 'stopped' }),
    ]);
    expect(store.get(id)!.name).toBe('Renamed');
    expect(presets.get(preset.id)!.system).toBe('Be short.');
    expect(open.messages.get(answer.id)!.status).toBe('stopped');
  });
});

describe('search', () => {
  it('finds titles and texts, the newest conversations first', async () => {
    const store = tab(aName());
    const first = await chat(store);
    await new Promise((resolve) => setTimeout(resolve, 2));
    const second = await chat(store);
    await store.rename(second.id, 'Llamas on the puna');
    const found = await store.search('PUNA');
    expect(found.map(({ convId, messageId }) => [convId, messageId])).toEqual([
      [second.id, undefined],
      [second.id, second.question.id],
      [first.id, undefined],
      [first.id, first.question.id],
    ]);
    expect(found[0]!.snippet.slice(...found[0]!.at)).toBe('puna');
    expect(await store.search('   ')).toEqual([]);
    expect(await store.search('yak')).toEqual([]);
  });

  it('goes through 10,000 messages and can be ended', async () => {
    const store = tab(aName());
    const { id } = await store.create();
    const open = await store.open(id);
    const messages = Array.from({ length: 10_000 }, (_, i) =>
      newMessage({ convId: id, parent: open.root, order: i + 1, role: 'user', content: `message number ${i} of many` }),
    );
    await store.storage.commit([{ table: 'messages', put: messages }]);
    const found = await store.search('"number 7777 "');
    expect(found.map(({ messageId }) => messageId)).toEqual([messages[7777]!.id]);
    const control = new AbortController();
    const search = store.search('number', control.signal);
    control.abort(new Error('enough'));
    await expect(search).rejects.toThrow('enough');
  });
});

describe('import and export', () => {
  it('gives back what was written, and knows what is here', async () => {
    const store = tab(aName());
    const { id, open, question } = await chat(store);
    await open.add({ parent: question.id, role: 'assistant', content: 'A plateau.' });
    const before = [...open.messages.values()];
    const conversation = store.get(id)!;
    const { blob, name } = await store.export([id], 'llama');
    expect(name).toMatch(/^What-is-a-puna_\d{4}-\d\d-\d\d\.jsonl$/);
    const file = new File([blob], 'anything.txt');
    expect((await store.import([file])).problems.map(({ why }) => why)).toEqual([
      'The conversation “What is a puna?” is here already, with all its messages.',
    ]);
    // A branch that was deleted comes back.
    await open.removeFrom(before.at(-1)!.id);
    expect((await store.import([file])).added.map((each) => each.id)).toEqual([id]);
    expect([...open.messages.values()]).toEqual(before);
    // In another place all is as it was.
    const other = tab(aName());
    expect(await other.import([file])).toMatchObject({ problems: [] });
    expect([...(await other.open(id)).messages.values()]).toEqual(before);
    expect(other.get(id)).toEqual(conversation);
  });

  it('never touches the messages of another conversation', async () => {
    const store = tab(aName());
    const { open, question } = await chat(store);
    const lines = [
      { type: 'session', harness: 'llama.app', id: 'evil', name: 'Evil', currNode: question.id, lastModified: 1 },
      {
        type: 'message',
        message: {
          id: question.id,
          convId: 'evil',
          type: 'text',
          role: 'user',
          content: 'overwritten',
          parent: 'r',
          children: [],
          timestamp: 1,
        },
      },
    ];
    const file = new File([lines.map((line) => JSON.stringify(line)).join('\n')], 'x');
    const { added } = await store.import([file]);
    expect(added).toHaveLength(1);
    expect(open.messages.get(question.id)!.content).toBe('What is a puna?');
    expect((await store.open(added[0]!.id)).path.map(({ content }) => content)).toEqual(['overwritten']);
  });
});
