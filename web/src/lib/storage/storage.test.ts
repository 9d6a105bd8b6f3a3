import 'fake-indexeddb/auto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newConversation, newMessage, newRoot } from '#lib/conversations/new.ts';
import { getFile, putFile } from './files.ts';
import { isQuota } from './database.ts';
import { Overlay } from './overlay.ts';
import { Storage } from './storage.ts';
import { sweepFiles } from './sweep.ts';
import type { Change } from './tables.ts';

let count = 0;
const opened: Storage[] = [];
const aName = () => `storage-test-${++count}`;
function open(name: string): Storage {
  const storage = new Storage(name);
  opened.push(storage);
  return storage;
}

const put = IDBObjectStore.prototype.put;
const whole = globalThis.indexedDB;
function fill(): void {
  IDBObjectStore.prototype.put = () => {
    throw new DOMException('No room.', 'QuotaExceededError');
  };
}
function empty(): void {
  IDBObjectStore.prototype.put = put;
}

afterEach(() => {
  empty();
  globalThis.indexedDB = whole;
  for (const storage of opened.splice(0)) storage.close();
});

const draft = (id: string, text: string): Change => ({
  table: 'drafts',
  put: [{ id, text, files: [], lastModified: 1 }],
});
function chat(id: string): Change[] {
  const root = { ...newRoot(id), id: `${id}-root` };
  const said = newMessage({ id: `${id}-1`, convId: id, parent: root.id, order: 1, role: 'user', content: 'said' });
  return [
    { table: 'conversations', put: [newConversation({ id, currNode: said.id })] },
    { table: 'messages', put: [root, said] },
  ];
}

describe('storage', () => {
  it('has what was written after it is opened again', async () => {
    const name = aName();
    const first = open(name);
    await first.commit(chat('a'));
    await first.commit([{ table: 'conversations', key: 'a', patch: { name: 'Named', model: 'm' } }]);
    await first.commit([{ table: 'conversations', key: 'a', patch: { model: undefined } }]);
    first.close();
    const again = open(name);
    const [conversation] = await again.all('conversations');
    expect(conversation).toMatchObject({ id: 'a', name: 'Named' });
    expect('model' in conversation!).toBe(false);
    expect((await again.messagesOf('a')).map(({ id }) => id)).toEqual(['a-root', 'a-1']);
    expect(again.trouble).toBeNull();
  });

  it('writes all of a commit or nothing', async () => {
    const storage = open(aName());
    expect(() => storage.commit([draft('a', 'x'), { table: 'values', put: [{ key: 'f', value: () => 1 }] }])).toThrow();
    expect(await storage.all('drafts')).toEqual([]);
  });

  it('takes the messages of a conversation with it, those of other tabs too', async () => {
    const name = aName();
    const one = open(name);
    const two = open(name);
    await one.commit(chat('a'));
    const late = newMessage({ id: 'late', convId: 'a', parent: 'a-1', order: 2, role: 'assistant' });
    await two.commit([{ table: 'messages', put: [late] }]);
    await one.commit([{ table: 'conversations', remove: ['a'] }]);
    expect(await one.messagesOf('a')).toEqual([]);
    // An answer that is written on in the meantime has nowhere to go.
    await two.commit([{ table: 'messages', put: [late] }]);
    expect(await one.messagesOf('a')).toEqual([]);
  });

  it('reads many rows in slices', async () => {
    const storage = open(aName());
    const rows = Array.from({ length: 1234 }, (_, i) => ({ key: `k${String(i).padStart(5, '0')}`, value: i }));
    await storage.commit([{ table: 'values', put: rows }]);
    const seen: unknown[] = [];
    let slices = 0;
    for await (const slice of storage.slices('values')) {
      seen.push(...slice.map(({ value }) => value));
      ++slices;
    }
    expect(seen).toEqual(rows.map(({ value }) => value));
    expect(slices).toBe(4);
  });

  it('tells other tabs', async () => {
    const name = aName();
    const one = open(name);
    const two = open(name);
    const heard: unknown[] = [];
    two.listen((news) => heard.push(news));
    await one.commit([draft('a', 'typed')]);
    await vi.waitFor(() => expect(heard).toHaveLength(1));
    expect(heard[0]).toEqual({ changes: [draft('a', 'typed')] });
    expect(await two.row('drafts', 'a')).toMatchObject({ text: 'typed' });
  });
});

describe('what a server is not told of yet', () => {
  const marks = async (storage: Storage) =>
    (await storage.all('unsent')).map(
      ({ key, removed, stamp }) => [key, ...(removed ? ['removed'] : []), stamp] as const,
    );
  function noting(name: string): Storage {
    const storage = open(name);
    storage.notesUnsent = () => true;
    return storage;
  }

  it('is noted with each change, while that is wanted', async () => {
    const storage = noting(aName());
    await storage.commit([...chat('a'), draft('d', 'typed')]);
    await storage.commit([{ table: 'conversations', key: 'a', patch: { name: 'Named', model: undefined } }]);
    const before = await marks(storage);
    expect(before.map(([key]) => key)).toEqual([
      'conversations/a',
      'conversations/a/model',
      'conversations/a/name',
      'messages/a-1',
      'messages/a-root',
    ]);
    expect(new Set(before.map(([, stamp]) => stamp)).size).toBe(2);
    await storage.commit([
      { table: 'conversations', remove: ['a'] },
      { table: 'messages', remove: ['a-root', 'a-1'] },
    ]);
    expect((await marks(storage))[0]!.slice(0, 2)).toEqual(['conversations/a', 'removed']);
    // With the conversation, at the server too.
    expect((await marks(storage)).filter(([, second]) => second === 'removed')).toHaveLength(1);
    storage.notesUnsent = () => false;
    await storage.commit(chat('b'));
    expect((await marks(storage)).some(([key]) => key.includes('b'))).toBe(false);
  });

  it('has times of which each is later', async () => {
    const storage = noting(aName());
    await Promise.all(['a', 'b', 'c'].map((id) => storage.commit(chat(id))));
    const times = (await storage.all('unsent'))
      .filter(({ table }) => table === 'conversations')
      .map(({ time }) => time);
    expect(new Set(times).size).toBe(3);
  });

  it('is written with the change or not at all', async () => {
    const name = aName();
    const storage = noting(name);
    await storage.open();
    fill();
    await storage.commit(chat('a'));
    expect(await marks(storage)).toHaveLength(3);
    const other = open(name);
    expect([await other.all('conversations'), await other.all('unsent')]).toEqual([[], []]);
    empty();
    await storage.flush();
    expect([await other.all('conversations'), await other.all('unsent')].map(({ length }) => length)).toEqual([1, 3]);
  });

  it('is in databases of the version before too, which keep what they have', async () => {
    const name = aName();
    await new Promise<void>((resolve) => {
      const request = indexedDB.open(name, 10);
      request.onupgradeneeded = () => {
        for (const table of ['conversations', 'drafts', 'presets'])
          request.result.createObjectStore(table, { keyPath: 'id' });
        request.result
          .createObjectStore('messages', { keyPath: 'id' })
          .createIndex('[convId+order]', ['convId', 'order']);
        request.result.createObjectStore('files', { keyPath: 'sha256' });
        request.result.createObjectStore('values', { keyPath: 'key' });
        request
          .transaction!.objectStore('conversations')
          .put(newConversation({ id: 'a', currNode: 'a-root', name: 'Old' }));
        request.transaction!.objectStore('messages').put({ ...newRoot('a'), id: 'a-root' });
      };
      request.onsuccess = () => {
        request.result.close();
        resolve();
      };
    });
    const storage = noting(name);
    await storage.commit([{ table: 'conversations', key: 'a', patch: { pinned: true } }]);
    expect(storage.trouble).toBeNull();
    expect(await storage.all('conversations')).toMatchObject([{ id: 'a', name: 'Old', pinned: true }]);
    expect(await storage.messagesOf('a')).toHaveLength(1);
    expect((await marks(storage)).map(([key]) => key)).toEqual(['conversations/a/pinned']);
  });
});

describe('updates', () => {
  const rename = (name: string): Change => ({ table: 'conversations', key: 'a', patch: { name } });
  const nameIn = async (storage: Storage) => (await storage.row('conversations', 'a'))?.name;

  it('are of what is stored when they are written, and nothing comes between', async () => {
    const name = aName();
    const one = open(name);
    const two = open(name);
    one.notesUnsent = () => true;
    await one.commit(chat('a'));
    await one.commit([rename('')]);
    const add = (letter: string) => (storage: Storage) =>
      storage.update({ conversations: ['a', 'none'] }, (found) => [
        rename((found('conversations').get('a')?.name ?? '?') + letter),
      ]);
    await Promise.all([...'abcdefgh'].map((letter, i) => add(letter)(i % 2 ? one : two)));
    expect([...(await nameIn(one))!].sort().join('')).toBe('abcdefgh');
    // Nothing of it is for the server.
    expect((await one.all('unsent')).filter(({ member }) => member === 'name')).toHaveLength(1);
  });

  it('are shown below what was committed in the meantime', async () => {
    const storage = open(aName());
    await storage.commit(chat('a'));
    let shown = '';
    storage.listen((news) => {
      for (const change of 'changes' in news ? news.changes : [])
        if (change.table === 'conversations' && 'patch' in change) shown = change.patch.name ?? shown;
    });
    const updated = storage.update({}, () => [rename('From elsewhere')]);
    const typed = storage.commit([rename('Typed')]);
    expect(shown).toBe('Typed');
    await Promise.all([updated, typed]);
    expect([shown, await nameIn(storage)]).toEqual(['Typed', 'Typed']);
  });

  it('hold in memory where nothing can be stored', async () => {
    const storage = open(aName());
    await storage.commit(chat('a'));
    fill();
    await storage.update({ conversations: 'all' }, (found) => [rename(`${found('conversations').size} chat`)]);
    expect([storage.trouble, await nameIn(storage)]).toEqual(['full', '1 chat']);
    empty();
    globalThis.indexedDB = undefined as unknown as IDBFactory;
    const other = open(aName());
    await other.commit(chat('a'));
    await other.update({ conversations: ['a'] }, (found) => [rename(`${found('conversations').get('a')!.id}!`)]);
    expect([other.trouble, await nameIn(other)]).toEqual(['refused', 'a!']);
  });

  it('that fail change nothing, and what is behind them goes on', async () => {
    const storage = open(aName());
    await storage.commit(chat('a'));
    const bad = storage.update({}, () => {
      throw new Error('No.');
    });
    const typed = storage.commit([rename('Typed')]);
    await expect(bad).rejects.toThrow('No.');
    await typed;
    expect(await nameIn(storage)).toBe('Typed');
  });
});

describe('storage that is full', () => {
  it('says so, keeps what is new in memory, and saves it when there is room', async () => {
    const name = aName();
    const storage = open(name);
    const troubles: unknown[] = [];
    storage.listenTrouble((trouble) => troubles.push(trouble));
    await storage.commit(chat('a'));
    fill();
    await storage.commit([{ table: 'conversations', key: 'a', patch: { name: 'Renamed' } }]);
    await storage.commit(chat('b'));
    expect(storage.trouble).toBe('full');
    expect((await storage.all('conversations')).map(({ id, name: title }) => [id, title])).toEqual([
      ['a', 'Renamed'],
      ['b', ''],
    ]);
    expect(await storage.messagesOf('b')).toHaveLength(2);
    const ids: string[] = [];
    for await (const slice of storage.slices('messages')) ids.push(...slice.map(({ id }) => id));
    expect(ids.sort()).toEqual(['a-1', 'a-root', 'b-1', 'b-root']);
    empty();
    await storage.flush();
    expect(storage.trouble).toBeNull();
    expect(troubles).toEqual([null, 'full', null]);
    storage.close();
    const again = open(name);
    expect((await again.all('conversations')).map(({ id, name: title }) => [id, title])).toEqual([
      ['a', 'Renamed'],
      ['b', ''],
    ]);
    expect(await again.messagesOf('b')).toHaveLength(2);
  });

  it('removes all the same, and has room then', async () => {
    const name = aName();
    const storage = open(name);
    await storage.commit(chat('a'));
    fill();
    await storage.commit([draft('d', 'typed')]);
    await storage.commit([{ table: 'conversations', remove: ['a'] }]);
    expect(await storage.all('conversations')).toEqual([]);
    const other = open(name);
    expect(await other.all('conversations')).toEqual([]);
    empty();
    await storage.flush();
    expect(storage.trouble).toBeNull();
    expect(await other.row('drafts', 'd')).toMatchObject({ text: 'typed' });
  });

  it('shows other tabs what could not be saved', async () => {
    const name = aName();
    const one = open(name);
    const two = open(name);
    await Promise.all([one.open(), two.open()]);
    fill();
    await one.commit(chat('a'));
    await vi.waitFor(async () => expect(await two.messagesOf('a')).toHaveLength(2));
    expect(await two.all('conversations')).toHaveLength(1);
  });

  // The keys of all rows that are put from now on.
  function puts(): unknown[] {
    const seen: unknown[] = [];
    IDBObjectStore.prototype.put = function (row: Record<string, unknown>) {
      seen.push(row['id'] ?? row['key']);
      return put.call(this, row);
    };
    return seen;
  }
  const answer = (content: string, status: 'writing' | 'done') =>
    newMessage({ id: 'a-2', convId: 'a', parent: 'a-1', order: 2, role: 'assistant', content, status });

  it('does not hold in other tabs what has been saved since, nor what comes after it', async () => {
    const name = aName();
    const [one, two] = [open(name), open(name)];
    await Promise.all([one.open(), two.open()]);
    await one.commit(chat('a'));
    fill();
    await one.commit([{ table: 'messages', put: [answer('', 'writing')] }]);
    await vi.waitFor(async () => expect(await two.row('messages', 'a-2')).toMatchObject({ status: 'writing' }));
    empty();
    await one.commit([{ table: 'messages', key: 'a-2', patch: { content: 'the whole answer', status: 'done' } }]);
    const whole = { content: 'the whole answer', status: 'done' };
    await vi.waitFor(async () => expect(await two.row('messages', 'a-2')).toMatchObject(whole));
    // What the other tab writes next has no row of before with it.
    const seen = puts();
    await two.commit([draft('d', 'typed')]);
    expect(seen).toEqual(['d']);
    expect(await open(name).row('messages', 'a-2')).toMatchObject(whole);
  });

  it('is full no longer in any tab once one of them has saved what waits', async () => {
    const name = aName();
    const [one, two] = [open(name), open(name)];
    await Promise.all([one.open(), two.open()]);
    await one.commit(chat('a'));
    fill();
    await two.commit([draft('d', 'typed')]);
    await vi.waitFor(async () => expect(await one.row('drafts', 'd')).toBeDefined());
    await one.commit([{ table: 'conversations', key: 'a', patch: { name: 'Renamed' } }]);
    await vi.waitFor(async () => expect(await two.row('conversations', 'a')).toMatchObject({ name: 'Renamed' }));
    expect([one.trouble, two.trouble]).toEqual(['full', 'full']);
    empty();
    await one.flush();
    await vi.waitFor(() => expect([one.trouble, two.trouble]).toEqual([null, null]));
    const seen = puts();
    await Promise.all([one.flush(), two.flush()]);
    expect(seen).toEqual([]);
  });

  it('keeps what was changed since another tab saved it', () => {
    const rows = () => {
      const overlay = new Overlay();
      overlay.add(chat('a'));
      overlay.add([{ table: 'conversations', key: 'b', patch: { name: 'Renamed', pinned: true, model: undefined } }]);
      return overlay;
    };
    const overlay = rows();
    const told = overlay.changes();
    overlay.add([{ table: 'messages', key: 'a-1', patch: { content: 'said more' } }]);
    overlay.add([{ table: 'conversations', key: 'b', patch: { pinned: false } }]);
    overlay.settle(told);
    expect(overlay.changes()).toMatchObject([
      { table: 'conversations', key: 'b', patch: { pinned: false } },
      { table: 'messages', put: [{ id: 'a-1', content: 'said more' }] },
    ]);
    // A saved patch leaves of a patch what it does not say, and is of a row that waits from then on.
    const other = rows();
    other.drop([
      { table: 'conversations', key: 'b', patch: { name: 'Again' } },
      { table: 'messages', key: 'a-1', patch: { content: 'said again' } },
    ]);
    expect(other.row('messages', 'a-1', undefined)).toMatchObject({ content: 'said again' });
    expect(other.changes()[0]).toEqual({ table: 'conversations', key: 'b', patch: { pinned: true, model: undefined } });
  });

  it('knows it from the errors that libraries wrap', () => {
    expect(
      isQuota(Object.assign(new Error(), { name: 'AbortError', inner: new DOMException('', 'QuotaExceededError') })),
    ).toBe(true);
    expect(isQuota(new Error('other'))).toBe(false);
    expect(isQuota(undefined)).toBe(false);
  });
});

describe('storage that cannot be had', () => {
  const works = async (storage: Storage) => {
    await storage.commit(chat('a'));
    await storage.commit([{ table: 'conversations', key: 'a', patch: { name: 'In memory' } }]);
    expect((await storage.all('conversations')).map(({ name }) => name)).toEqual(['In memory']);
    expect(await storage.messagesOf('a')).toHaveLength(2);
    const sha256 = await putFile(new Blob(['bytes']), storage);
    expect(await (await getFile(sha256, storage))!.text()).toBe('bytes');
    await storage.commit([{ table: 'conversations', remove: ['a'] }]);
    expect(await storage.all('conversations')).toEqual([]);
    expect(await storage.messagesOf('a')).toEqual([]);
  };

  it('works in memory without IndexedDB', async () => {
    globalThis.indexedDB = undefined as unknown as IDBFactory;
    const storage = open(aName());
    await works(storage);
    expect(storage.trouble).toBe('refused');
  });

  it('works in memory where opening throws, as in private windows', async () => {
    globalThis.indexedDB = {
      open: () => {
        throw new DOMException('Denied.', 'SecurityError');
      },
    } as unknown as IDBFactory;
    const storage = open(aName());
    await works(storage);
    expect(storage.trouble).toBe('refused');
  });

  it('keeps in memory what another tab has saved for it, as it can read nothing else', async () => {
    const name = aName();
    const [one, two] = [open(name), open(name)];
    await one.open();
    globalThis.indexedDB = undefined as unknown as IDBFactory;
    await two.commit(chat('a'));
    globalThis.indexedDB = whole;
    await vi.waitFor(async () => expect(await one.messagesOf('a')).toHaveLength(2));
    await one.commit([draft('d', 'typed')]);
    expect(await open(name).messagesOf('a')).toHaveLength(2);
    let heard = false;
    two.listen(() => (heard = true));
    await one.commit([draft('d', 'typed on')]);
    await vi.waitFor(() => expect(heard).toBe(true));
    expect(await two.messagesOf('a')).toHaveLength(2);
  });

  it('leaves the database of a newer version alone', async () => {
    const name = aName();
    const newer = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open(name, 990);
      request.onupgradeneeded = () => request.result.createObjectStore('something').put('kept', 'key');
      request.onsuccess = () => resolve(request.result);
    });
    const storage = open(name);
    await works(storage);
    expect(storage.trouble).toBe('newer');
    expect(newer.version).toBe(990);
    expect([...newer.objectStoreNames]).toEqual(['something']);
    newer.close();
  });

  it('gives way to a newer version of the page and goes on in memory', async () => {
    const name = aName();
    const storage = open(name);
    await storage.commit(chat('a'));
    await new Promise<void>((resolve) => {
      const request = indexedDB.open(name, 990);
      request.onsuccess = () => {
        request.result.close();
        resolve();
      };
    });
    expect(storage.trouble).toBe('newer');
    await storage.commit([draft('d', 'after')]);
    expect(await storage.row('drafts', 'd')).toMatchObject({ text: 'after' });
  });
});

describe('files', () => {
  it('are kept once under their SHA-256', async () => {
    const storage = open(aName());
    const one = await putFile(new Blob(['same'], { type: 'text/plain' }), storage);
    const two = await putFile(new Blob(['same'], { type: 'text/plain' }), storage);
    expect(one).toBe(two);
    expect(await storage.all('files')).toHaveLength(1);
    expect(await getFile('0'.repeat(64), storage)).toBeUndefined();
  });

  it('go when two sweeps a day apart found no use of them', async () => {
    const storage = open(aName());
    const ref = async (text: string) => {
      const sha256 = await putFile(new Blob([text]), storage);
      return { sha256, name: text, kind: 'text' as const, type: 'text/plain', bytes: text.length };
    };
    const [used, typed, unused, undone] = [
      await ref('used'),
      await ref('typed'),
      await ref('unused'),
      await ref('undone'),
    ];
    await storage.commit(chat('a'));
    await storage.commit([
      { table: 'messages', key: 'a-1', patch: { files: [used] } },
      { table: 'drafts', put: [{ id: 'a', text: '', files: [typed], lastModified: 1 }] },
    ]);
    const day = 24 * 3600 * 1000;
    expect(await sweepFiles(storage, 0)).toBe(0);
    expect(await sweepFiles(storage, 1000)).toBe(0);
    // Its message came back.
    await storage.commit([{ table: 'messages', key: 'a-1', patch: { files: [used, undone] } }]);
    expect(await sweepFiles(storage, day + 1)).toBe(1);
    expect((await storage.all('files')).map(({ sha256 }) => sha256).sort()).toEqual(
      [used, typed, undone].map(({ sha256 }) => sha256).sort(),
    );
    expect(await getFile(unused.sha256, storage)).toBeUndefined();
  });
});
