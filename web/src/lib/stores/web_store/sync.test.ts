import 'fake-indexeddb/auto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { getFile, putFile } from '#lib/storage/files.ts';
import { Storage } from '#lib/storage/storage.ts';
import { keptTables } from '#lib/storage/tables.ts';
import type { Message } from '#lib/types/conversation.ts';
import { WebStoreError } from '#lib/types/web_store.ts';
import { Conversations, type OpenConversation } from '../conversations.svelte.ts';
import { KeptOnServer } from '../web_store.svelte.ts';
import { away, ModelServer } from './model_server.ts';
import { Sync } from './sync.ts';

let count = 0;
let clock = 1_000_000;
let server: ModelServer;
const opened: Storage[] = [];

beforeEach(() => {
  // Each look at the clock is later than the one before, on all devices.
  vi.spyOn(Date, 'now').mockImplementation(() => ++clock);
  server = new ModelServer();
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const storage of opened.splice(0)) storage.close();
});

interface Device {
  storage: Storage;
  chats: Conversations;
  sync: Sync;
  on: boolean;
  // Of another time, and changes are noted.
  wasOn: boolean;
}
function device(name = `web-store-test-${++count}`): Device {
  const storage = new Storage(name);
  opened.push(storage);
  const made: Device = {
    storage,
    chats: new Conversations(storage),
    sync: new Sync(storage, server, () => made.on),
    on: true,
    wasOn: false,
  };
  storage.notesUnsent = () => made.on || made.wasOn;
  void made.chats.start();
  return made;
}
async function both(...devices: Device[]): Promise<void> {
  for (const each of [...devices, ...devices]) await each.sync.round();
}
async function state({ storage }: Device): Promise<Record<string, unknown[]>> {
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  const out: Record<string, unknown[]> = {};
  for (const table of keptTables) out[table] = (await storage.all(table)).sort(byId);
  return out;
}
function serverState(): Record<string, unknown[]> {
  const rows = (table: string) =>
    [...server.values(table)].map(([id, value]) => ({ ...value, id })).sort((a, b) => (a.id < b.id ? -1 : 1));
  return Object.fromEntries(keptTables.map((table) => [table, rows(table)]));
}

async function chat(
  { chats }: Device,
  question = 'What is a puna?',
): Promise<{ id: string; open: OpenConversation; question: Message; answer: Message }> {
  const { id } = await chats.create({ model: 'm' });
  const open = await chats.open(id);
  const asked = await open.add({ parent: open.root, role: 'user', content: question });
  const answer = await open.add({ parent: asked.id, role: 'assistant', content: 'A grassland.' });
  return { id, open, question: asked, answer };
}
const textsOf = (open: OpenConversation) => [...open.messages.values()].map(({ content }) => content).sort();

describe('two devices', () => {
  it('have each other’s conversations, also those from before', async () => {
    const [a, b] = [device(), device()];
    a.on = false;
    const { id } = await chat(a);
    a.on = true;
    expect(await a.storage.all('unsent')).toEqual([]);
    await a.sync.round();
    await b.sync.round();
    expect(await state(b)).toEqual(await state(a));
    expect(b.chats.get(id)).toMatchObject({ name: 'What is a puna?', model: 'm' });
    expect(await b.storage.all('unsent')).toEqual([]);
    // What came is nothing that is to be told, and what was told is not told again.
    server.asked = [];
    await both(a, b);
    expect(server.asked).toEqual(['rows', 'rows', 'rows', 'rows']);
  });

  it('show what comes at once, in what is open too', async () => {
    const [a, b] = [device(), device()];
    const { id, open, answer } = await chat(a);
    await both(a, b);
    const there = await b.chats.open(id);
    await open.add({ parent: answer.id, role: 'user', content: 'And where?' });
    await a.chats.pin(id, true);
    await both(a, b);
    expect(there.path.map(({ content }) => content)).toEqual(['What is a puna?', 'A grassland.', 'And where?']);
    expect(there.conversation.pinned).toBe(true);
    await a.chats.remove([id]);
    await both(a, b);
    expect(there.gone).toBe(true);
    expect(await b.storage.messagesOf(id)).toEqual([]);
  });

  it.each([[['a', 'b']], [['b', 'a']]])('agree on the later title, whoever is heard first (%s)', async (order) => {
    const devices = { a: device(), b: device() };
    const { id } = await chat(devices.a);
    await both(devices.a, devices.b);
    await devices.a.chats.rename(id, 'Earlier');
    await devices.b.chats.rename(id, 'Later');
    await devices.a.chats.pin(id, true);
    await both(...order.map((name) => devices[name as 'a' | 'b']));
    for (const { chats } of Object.values(devices))
      expect(chats.get(id)).toMatchObject({ name: 'Later', pinned: true });
  });

  it('have the branches of both', async () => {
    const [a, b] = [device(), device()];
    const { id, open, question } = await chat(a);
    await both(a, b);
    const there = await b.chats.open(id);
    await open.add({ parent: question.id, role: 'assistant', content: 'From a.' });
    await there.add({ parent: question.id, role: 'assistant', content: 'From b.' });
    await both(a, b);
    expect(textsOf(open)).toEqual(['', 'A grassland.', 'From a.', 'From b.', 'What is a puna?']);
    expect(textsOf(there)).toEqual(textsOf(open));
    expect(await state(b)).toEqual(await state(a));
  });

  it('remember a deletion where one was away with edits of before and after', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    await both(a, b);
    const there = await b.chats.open(id);
    await b.chats.rename(id, 'Before');
    await a.chats.remove([id]);
    await b.chats.rename(id, 'After');
    await there.add({ parent: there.root, role: 'user', content: 'After' });
    await a.sync.round();
    await both(b, a);
    expect(await state(a)).toEqual({ conversations: [], messages: [], presets: [] });
    expect(await state(b)).toEqual(await state(a));
    expect(await b.storage.all('unsent')).toEqual([]);
    expect(there.gone).toBe(true);
  });

  it('undo a deletion that was told', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    await both(a, b);
    const before = await state(a);
    const undo = await a.chats.remove([id]);
    await both(a, b);
    expect(b.chats.get(id)).toBeUndefined();
    await undo();
    await both(a, b);
    expect(await state(a)).toEqual(before);
    expect(await state(b)).toEqual(before);
  });

  it('get all of a conversation back whose deletion did not hold', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    await both(a, b);
    const before = await state(a);
    // Told after b took its own, later one back.
    await a.chats.remove([id]);
    const undo = await b.chats.remove([id]);
    await undo();
    await b.sync.round();
    await both(a, b);
    expect(await state(a)).toEqual(before);
    expect(await state(b)).toEqual(before);
  });

  it('get back what only they had told of it, too', async () => {
    const [a, b] = [device(), device()];
    const { id, open } = await chat(a);
    await both(a, b);
    const undo = await b.chats.remove([id]);
    await open.add({ parent: open.root, role: 'user', content: 'Of a' });
    await a.sync.round();
    await a.chats.remove([id]);
    await undo();
    await b.sync.round();
    await both(a, b);
    expect((await a.storage.messagesOf(id)).map(({ content }) => content)).toContain('Of a');
    expect(await state(a)).toEqual(await state(b));
    expect(serverState()).toEqual(await state(a));
  });

  it('delete a branch, and take it back', async () => {
    const [a, b] = [device(), device()];
    const { open, question } = await chat(a);
    await both(a, b);
    const before = await state(a);
    const undo = await open.removeFrom(question.id);
    await both(a, b);
    expect((await state(b))['messages']).toHaveLength(1);
    await undo();
    await both(a, b);
    expect(await state(b)).toEqual(before);
  });

  it('have members that go, and presets', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    const preset = {
      id: 'p',
      name: 'Pirate',
      system: 'Arr.',
      parameters: { top_k: 3 },
      whenThinking: {},
      whenNotThinking: {},
      lastModified: 1,
    };
    await a.storage.commit([{ table: 'presets', put: [preset] }]);
    await both(a, b);
    await a.chats.update(id, { model: undefined, preset: 'p' });
    await a.storage.commit([{ table: 'presets', key: 'p', patch: { name: 'Sailor' } }]);
    await both(a, b);
    expect(b.chats.get(id)).not.toHaveProperty('model');
    expect(await b.storage.all('presets')).toEqual([{ ...preset, name: 'Sailor' }]);
    expect(await state(b)).toEqual(await state(a));
  });

  it('agree on what a deletion and its undo took along while one was away', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    await both(a, b);
    await a.chats.update(id, { model: undefined });
    const undo = await a.chats.remove([id]);
    await a.sync.round();
    await undo();
    await both(a, b);
    expect(b.chats.get(id)).not.toHaveProperty('model');
    expect(await state(b)).toEqual(await state(a));
  });

  it('have the files that messages name: sent once and before them, fetched when they are asked for', async () => {
    const [a, b] = [device(), device()];
    const { open } = await chat(a);
    const bytes = new Blob([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2])], {
      type: 'image/png',
    });
    const sha256 = await putFile(bytes, a.storage);
    const files = [{ sha256, name: 'x.png', kind: 'image' as const, type: 'image/png', bytes: bytes.size }];
    await open.add({ parent: open.root, role: 'user', content: 'Look', files });
    await open.add({ parent: open.root, role: 'user', content: 'Again', files });
    await a.sync.round();
    expect(server.asked).toEqual(['rows', 'hasFile', 'keepFile', 'change', 'rows']);
    await b.sync.round();
    expect(await getFile(sha256, b.storage)).toBeUndefined();
    const setting = { keepOnServer: true, wasKeptOnServer: true };
    new KeptOnServer(b.storage, server, setting, never);
    server.asked = [];
    const [one, two] = await Promise.all([getFile(sha256, b.storage), getFile(sha256, b.storage)]);
    expect(server.asked).toEqual(['file']);
    expect([one!.type, new Uint8Array(await two!.arrayBuffer())]).toEqual([
      'image/png',
      new Uint8Array(await bytes.arrayBuffer()),
    ]);
    server.files.clear();
    expect((await getFile(sha256, b.storage))?.size).toBe(bytes.size);
    setting.keepOnServer = false;
    expect(await getFile('0'.repeat(64), b.storage)).toBeUndefined();
  });
});
const never = () => {
  throw new Error('Nobody asks for a lease.');
};

describe('what was not told', () => {
  it('stands in the database with the change, and is told in another visit', async () => {
    const a = device('web-store-killed');
    await chat(a);
    await a.sync.round();
    await a.chats.rename((await a.storage.all('conversations'))[0]!.id, 'Named');
    a.storage.close();
    const [again, b] = [device('web-store-killed'), device()];
    expect(await again.storage.all('unsent')).toMatchObject([{ table: 'conversations', member: 'name' }]);
    await both(again, b);
    expect((await b.storage.all('conversations'))[0]!.name).toBe('Named');
  });

  it('stays where the server went away before it took it, or behind that', async () => {
    for (const where of ['before', 'behind'] as const) {
      server = new ModelServer();
      const [a, b] = [device(), device()];
      await a.sync.round();
      await chat(a);
      server[where] = (what) => {
        if (what === 'change') throw away();
      };
      await expect(a.sync.round()).rejects.toMatchObject({ trouble: 'away' });
      expect(await a.sync.waits()).toBeGreaterThan(0);
      server[where] = () => {};
      await both(a, b);
      expect(await a.sync.waits()).toBe(0);
      expect(await state(b)).toEqual(await state(a));
    }
  });

  it('is what was changed while it was told', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    await both(a, b);
    await a.chats.rename(id, 'One');
    let told = 0;
    server.behind = async (what) => {
      if (what === 'change' && ++told === 1) await a.chats.rename(id, 'Two');
    };
    await a.sync.round();
    expect(told).toBe(2);
    await b.sync.round();
    expect(b.chats.get(id)!.name).toBe('Two');
  });

  it('holds against what comes while it is changed', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    await both(a, b);
    await a.chats.rename(id, 'Of a');
    await a.sync.round();
    let changed: Promise<void> | undefined;
    server.behind = (what) => {
      // Behind the answer, before what is in it is written.
      if (what === 'rows') changed ??= b.chats.rename(id, 'Of b, later');
    };
    await b.sync.round();
    await changed;
    expect(b.chats.get(id)!.name).toBe('Of b, later');
    await both(b, a);
    for (const { chats, storage } of [a, b]) {
      expect(chats.get(id)!.name).toBe('Of b, later');
      expect((await storage.row('conversations', id))!.name).toBe('Of b, later');
    }
  });

  it('gets what came with a deletion that was taken back before it was told', async () => {
    const [a, b] = [device(), device()];
    const { id, open } = await chat(a);
    await both(a, b);
    await open.add({ parent: open.root, role: 'user', content: 'Of a' });
    await a.sync.round();
    let gone: Promise<() => Promise<void>> | undefined;
    server.behind = async (what) => {
      if (what === 'rows') await (gone ??= b.chats.remove([id]));
    };
    server.before = (what) => {
      if (what === 'change') throw away();
    };
    await expect(b.sync.round()).rejects.toMatchObject({ trouble: 'away' });
    await (
      await gone!
    )();
    server.before = () => {};
    await both(b, a);
    expect((await b.storage.messagesOf(id)).map(({ content }) => content)).toContain('Of a');
    expect(await state(b)).toEqual(await state(a));
  });

  it('waits while an answer of its conversation is being written', async () => {
    const [a, b] = [device(), device()];
    const { id, open, answer } = await chat(a);
    await both(a, b);
    const writing = await open.add({ parent: answer.id, role: 'assistant', content: 'Ha', status: 'writing' });
    await a.chats.rename(id, 'Meanwhile');
    const other = await chat(a, 'Another?');
    expect(await a.sync.round()).toMatchObject({ waits: 2 });
    await b.sync.round();
    expect(b.chats.get(id)!.name).toBe('What is a puna?');
    expect(b.chats.get(other.id)).toBeDefined();
    await open.change(writing.id, { content: 'Half', status: 'done' });
    await both(a, b);
    expect(await a.sync.waits()).toBe(0);
    expect((await b.storage.row('messages', writing.id))!.content).toBe('Half');
    expect(await state(b)).toEqual(await state(a));
  });

  it('is everything for another store', async () => {
    const [a, b] = [device(), device()];
    await chat(a);
    await both(a, b);
    await chat(b, 'Not told yet?');
    server.another('second');
    await both(b, a);
    expect((await state(a))['conversations']).toHaveLength(2);
    expect(await state(b)).toEqual(await state(a));
    expect(serverState()).toEqual(await state(a));
  });

  it('does not come back from what was deleted elsewhere while it was not kept there', async () => {
    const [a, b] = [device(), device()];
    const { id } = await chat(a);
    await both(a, b);
    b.on = false;
    await a.chats.remove([id]);
    await both(a, b);
    expect(b.chats.get(id)).toBeDefined();
    b.on = true;
    await both(a, b);
    expect(await state(b)).toEqual({ conversations: [], messages: [], presets: [] });
  });

  it('is of all pages of a long answer', async () => {
    const [a, b] = [device(), device()];
    for (let i = 0; i < 5; ++i) await chat(a, `Question ${i}`);
    await a.sync.round();
    server.most = 3;
    await b.sync.round();
    expect(await state(b)).toEqual(await state(a));
  });
});

describe('a server that refuses', () => {
  it('one conversation gets the others', async () => {
    const [a, b] = [device(), device()];
    await a.sync.round();
    const large = await chat(a, 'x'.repeat(1000));
    const small = await chat(a, 'y');
    server.before = (what, changes) => {
      if (what === 'change' && JSON.stringify(changes).includes('x'.repeat(1000)))
        throw new WebStoreError('large', 'Too large.');
    };
    expect(await a.sync.round()).toMatchObject({ refused: { trouble: 'large', message: 'Too large.' } });
    await b.sync.round();
    expect([b.chats.get(small.id) !== undefined, (await a.sync.waits()) > 0]).toEqual([true, true]);
    // Asked again in another visit.
    server.before = () => {};
    const again = new Sync(a.storage, server, () => true);
    expect(await again.round()).toEqual({ waits: 0, refused: undefined });
    await b.sync.round();
    expect(b.chats.get(large.id)).toBeDefined();
    expect(await state(b)).toEqual(await state(a));
  });

  it.each(['key', 'off', 'away', 'none', 'failed'] as const)('all (%s) changes nothing here', async (trouble) => {
    const a = device();
    await chat(a);
    const [before, waits] = [await state(a), await a.sync.waits()];
    server.before = () => {
      throw new WebStoreError(trouble, 'No.');
    };
    await expect(a.sync.round()).rejects.toMatchObject({ trouble });
    expect([await state(a), await a.sync.waits()]).toEqual([before, waits]);
  });

  it('leaves out rows that are none here', async () => {
    const a = device();
    const time = Date.now();
    await server.change([
      { table: 'conversations', id: 'x', time, whole: true, value: { name: 'No more than a name' } },
      { table: 'messages', id: 'y', time, whole: true, value: { convId: 'nowhere', parent: null } },
      { table: 'drawings', id: 'z', time, whole: true, value: { name: 'Of another version' } },
    ]);
    await a.sync.round();
    expect(await state(a)).toEqual({ conversations: [], messages: [], presets: [] });
  });
});

describe('the switch', () => {
  const lease = { hold: never, take: never, tryTake: async () => ({ release: () => {} }) };
  const page = (of: Device) => {
    const setting = { keepOnServer: false, wasKeptOnServer: false };
    return new KeptOnServer(of.storage, server, setting, () => lease);
  };

  it('on: everything is told; off: nothing any more, and all stays', async () => {
    const a = device();
    const kept = page(a);
    const { id } = await chat(a);
    await kept.round();
    expect([server.asked, await a.storage.all('unsent')]).toEqual([[], []]);
    await kept.switch(true);
    expect([kept.on, kept.waits, kept.trouble, kept.at !== undefined]).toEqual([true, 0, undefined, true]);
    expect(serverState()).toEqual(await state(a));
    await kept.switch(false);
    await a.chats.rename(id, 'Here alone');
    server.asked = [];
    await kept.round();
    expect([server.asked, kept.waits]).toEqual([[], 0]);
    expect(a.chats.get(id)!.name).toBe('Here alone');
    await kept.switch(true);
    expect(serverState()).toEqual(await state(a));
    await kept.switch(false);
  });

  it('off: deletions are remembered, and told when it is on again', async () => {
    const [a, b] = [device(), device()];
    const kept = page(a);
    const [gone, stays, { open, question }] = [await chat(a, 'Gone?'), await chat(a, 'Stays?'), await chat(a, 'A part?')];
    const preset = { id: 'p', name: 'P', system: '', parameters: {}, whenThinking: {}, whenNotThinking: {}, lastModified: 1 };
    await a.storage.commit([{ table: 'presets', put: [preset] }]);
    await kept.switch(true);
    await b.sync.round();
    await kept.switch(false);
    await a.chats.remove([gone.id]);
    await open.removeFrom(question.id);
    await a.storage.commit([{ table: 'presets', remove: ['p'] }]);
    // Meanwhile the other goes on in what is gone here.
    await b.chats.rename(gone.id, 'Later');
    await b.sync.round();
    await kept.switch(true);
    await b.sync.round();
    expect(a.chats.list.map(({ id }) => id).sort()).toEqual([stays.id, open.conversation.id].sort());
    expect([...open.messages.values()].map(({ content }) => content)).toEqual(['']);
    expect((await state(a))['presets']).toEqual([]);
    expect(await state(b)).toEqual(await state(a));
    expect(serverState()).toEqual(await state(a));
    await kept.switch(false);
  });

  it('off: a deletion of before that is undone is undone at the server', async () => {
    const [a, b] = [device(), device()];
    const kept = page(a);
    const { id } = await chat(a);
    await kept.switch(true);
    const before = await state(a);
    const undo = await a.chats.remove([id]);
    await kept.round();
    await b.sync.round();
    await kept.switch(false);
    await undo();
    await kept.switch(true);
    await b.sync.round();
    expect(await state(a)).toEqual(before);
    expect(await state(b)).toEqual(before);
    await kept.switch(false);
  });

  it('off with the server away: what was not told by then is told later', async () => {
    const [a, b] = [device(), device()];
    const kept = page(a);
    const { id } = await chat(a);
    await kept.switch(true);
    await b.sync.round();
    server.before = () => {
      throw away();
    };
    await a.chats.remove([id]);
    await kept.round();
    await kept.switch(false);
    server.before = () => {};
    await kept.switch(true);
    await b.sync.round();
    for (const each of [a, b]) expect(each.chats.get(id)).toBeUndefined();
    await kept.switch(false);
  });

  it('says what the server says, and goes on when that has passed', async () => {
    const a = device();
    const kept = page(a);
    await kept.look();
    expect(kept.offer).toBe('yes');
    server.before = () => {
      throw new WebStoreError('off', 'This server keeps no conversations.');
    };
    await kept.look();
    expect(kept.offer).toBe('off');
    await kept.switch(true);
    expect(kept.trouble).toMatchObject({ trouble: 'off' });
    await chat(a);
    server.before = () => {};
    await kept.round();
    expect([kept.trouble, kept.waits]).toEqual([undefined, 0]);
    expect(serverState()).toEqual(await state(a));
    await kept.switch(false);
  });
});

describe('random steps', () => {
  it.each([1, 2, 3, 4])('end in one state (%i)', async (seed) => {
    let random = seed * 2654435761;
    const below = (n: number) => {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      return Math.floor((random / 2 ** 32) * n);
    };
    const pick = <T>(list: readonly T[]): T | undefined => list[below(list.length)];
    server.most = 7;
    const devices = [device(), device()];
    for (const each of devices) each.wasOn = true;
    // Of what each has removed last.
    const undos = new Map<Device, () => Promise<void>>();
    for (let step = 0; step < 120; ++step) {
      const at = pick(devices)!;
      const { chats, storage, sync } = at;
      const id = pick(chats.list)?.id;
      const messages = id === undefined ? [] : (await storage.messagesOf(id)).filter(({ parent }) => parent !== null);
      const message = pick(messages);
      const root = id === undefined ? undefined : (await storage.messagesOf(id)).find(({ parent }) => parent === null);
      const write = async (act: (open: OpenConversation) => Promise<unknown>) => {
        if (id === undefined) return;
        const open = await chats.open(id);
        await act(open);
        open.close();
      };
      const steps: (() => unknown)[] = [
        () => chats.create({ name: `Chat ${step}`, ...(below(2) === 0 && { model: 'm' }) }),
        () => id && chats.rename(id, `Name ${step}`),
        () => id && chats.update(id, { pinned: below(2) === 0, model: below(2) === 0 ? undefined : `m${step}` }),
        () =>
          write((open) =>
            open.add({
              parent: message && open.messages.has(message.id) ? message.id : open.root,
              role: 'user',
              content: `Said ${step}`,
            }),
          ),
        () => write((open) => open.add({ parent: open.root, role: 'user', content: `First ${step}` })),
        () => message && write((open) => open.rewrite(message.id, { content: `Mended ${step}` })),
        async () => message && write(async (open) => undos.set(at, await open.removeFrom(message.id))),
        async () => id && undos.set(at, await chats.remove([id])),
        async () => {
          await undos.get(at)?.();
          undos.delete(at);
        },
        () => root && write(async () => undefined),
        () =>
          storage.commit([
            {
              table: 'presets',
              put: [
                {
                  id: `p${below(3)}`,
                  name: `${step}`,
                  system: '',
                  parameters: {},
                  whenThinking: {},
                  whenNotThinking: {},
                  lastModified: step,
                },
              ],
            },
          ]),
        () => storage.commit([{ table: 'presets', remove: [`p${below(3)}`] }]),
        () => void (at.on = at.wasOn && !at.on),
        () => sync.round(),
        () => sync.round(),
      ];
      await pick(steps)!();
    }
    for (const each of devices) each.on = true;
    await both(...devices, ...devices);
    const [a, b] = [await state(devices[0]!), await state(devices[1]!)];
    expect(a).toEqual(b);
    expect(serverState()).toEqual(a);
    for (const { sync, chats, storage } of devices) {
      expect(await sync.waits()).toBe(0);
      expect([...chats.list].sort((x, y) => (x.id < y.id ? -1 : 1))).toEqual(
        (await storage.all('conversations')).sort((x, y) => (x.id < y.id ? -1 : 1)),
      );
    }
  });
});
