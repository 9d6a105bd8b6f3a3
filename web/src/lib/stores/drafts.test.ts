import 'fake-indexeddb/auto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Storage } from '#lib/storage/storage.ts';
import { Drafts } from './drafts.svelte.ts';

// What the browser's local storage is to the page.
const kept = new Map<string, string>();
const local = {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, value: string) => void kept.set(key, value),
  removeItem: (key: string) => void kept.delete(key),
};
const whole = globalThis.indexedDB;
let count = 0;
const tabs: Storage[] = [];
const aName = () => `drafts-test-${++count}`;
function tab(name: string): Drafts {
  const storage = new Storage(name);
  tabs.push(storage);
  return new Drafts(storage);
}

beforeEach(() => {
  kept.clear();
  Object.defineProperty(globalThis, 'localStorage', { value: local, configurable: true, writable: true });
});
afterEach(() => {
  globalThis.indexedDB = whole;
  for (const storage of tabs.splice(0)) storage.close();
});

const file = {
  sha256: 'f'.repeat(64),
  name: 'a.txt',
  kind: 'text' as const,
  type: 'text/plain',
  bytes: 3,
  text: 'abc',
};
const readyOf = (drafts: Drafts, id: string) =>
  vi.waitFor(() => {
    const draft = drafts.of(id);
    expect(draft.ready).toBe(true);
    return draft;
  });

describe('drafts', () => {
  it('are there after a reload, soon after they are typed', async () => {
    const name = aName();
    const draft = tab(name).of('new');
    draft.text = 'half a sen';
    draft.files = [file];
    await vi.waitFor(() => expect(draft.unsaved).toBeUndefined());
    const again = await readyOf(tab(name), 'new');
    expect(again.text).toBe('half a sen');
    expect(again.files).toEqual([file]);
    expect((await readyOf(tab(name), 'edit:1')).text).toBe('');
  });

  it('keep what is typed and attached while the rest is sent', async () => {
    const name = aName();
    const drafts = tab(name);
    const draft = await readyOf(drafts, 'new');
    const other = { ...file, sha256: 'e'.repeat(64) };
    for (const [now, left] of [
      ['hello', ''],
      ['hello there', ' there'],
      ['helXlo', 'X'],
      ['Xhello', 'X'],
      ['hellolo', 'lo'],
      // Nobody deletes what is sent to send it again.
      ['hell', ''],
      ['heXl', ''],
    ]) {
      draft.text = now!;
      draft.files = [file, other];
      draft.sent('hello', [file]);
      expect([now, draft.text, draft.files]).toEqual([now, left, [other]]);
    }
    draft.text = 'hello there';
    draft.sent('hello', [other]);
    await vi.waitFor(() => expect(draft.unsaved).toBeUndefined());
    expect((await readyOf(tab(name), 'new')).text).toBe(' there');
  });

  it('survive the end of the page before they are saved', async () => {
    const name = aName();
    const storage = tabs[tabs.push(new Storage(name)) - 1]!;
    const drafts = new Drafts(storage);
    drafts.of('a').text = 'typed a moment ago';
    drafts.of('edit:7').text = 'an edit';
    // The page goes: the database never gets it.
    storage.commit = () => new Promise(() => {});
    void drafts.leave();
    const again = tab(name);
    await vi.waitFor(() => expect(again.of('a').text).toBe('typed a moment ago'));
    await vi.waitFor(() => expect(again.of('edit:7').text).toBe('an edit'));
    expect(kept.size).toBe(0);
  });

  it('that were sent do not come back', async () => {
    const name = aName();
    const drafts = tab(name);
    const draft = drafts.of('a');
    draft.text = 'to be sent';
    await drafts.leave();
    drafts.clear('a');
    await drafts.save();
    expect(draft.text).toBe('');
    expect((await readyOf(tab(name), 'a')).text).toBe('');
    const storage = tabs[tabs.push(new Storage(name)) - 1]!;
    expect(await storage.all('drafts')).toEqual([]);
  });

  it('that are typed while the old ones are read stay', async () => {
    const name = aName();
    const first = tab(name);
    first.of('a').text = 'old';
    await first.save();
    const draft = tab(name).of('a');
    draft.text = 'newer';
    await vi.waitFor(() => expect(draft.ready).toBe(true));
    expect(draft.text).toBe('newer');
  });

  it('follow other tabs where nothing is typed', async () => {
    const name = aName();
    const one = tab(name);
    const two = tab(name);
    const there = await readyOf(two, 'a');
    one.of('a').text = 'from the other tab';
    await one.save();
    await vi.waitFor(() => expect(there.text).toBe('from the other tab'));
    one.clear('a');
    await vi.waitFor(() => expect(there.text).toBe(''));
  });

  it('are kept over reloads without a database too', async () => {
    globalThis.indexedDB = undefined as unknown as IDBFactory;
    const drafts = tab(aName());
    const draft = drafts.of('a');
    draft.text = 'in a private window';
    await drafts.save();
    await drafts.leave();
    const again = tab(aName());
    await vi.waitFor(() => expect(again.of('a').text).toBe('in a private window'));
  });
});
