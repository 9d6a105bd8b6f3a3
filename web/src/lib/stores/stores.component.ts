// In a browser: its own database, its own channel between tabs, and what components see.
import { flushSync } from 'svelte';
import { toStore } from 'svelte/store';
import { describe, expect, it, vi } from 'vitest';
import { newId } from '#lib/base/ids.ts';
import { getFile, putFile } from '#lib/storage/files.ts';
import { Storage } from '#lib/storage/storage.ts';
import { Conversations } from './conversations.svelte.ts';
import { Drafts } from './drafts.svelte.ts';
import { Settings } from './settings.svelte.ts';

// What an effect that reads this saw, one after the other.
function watched<T>(read: () => T): T[] {
  const seen: T[] = [];
  toStore(read).subscribe((value) => seen.push(value));
  flushSync();
  return seen;
}

describe('stores in a browser', () => {
  it('are seen by those who read them, and only when they change', async () => {
    const storage = new Storage(`test-${newId()}`);
    const conversations = new Conversations(storage);
    const { id } = await conversations.create();
    const open = await conversations.open(id);
    const names = watched(() => conversations.list.map(({ name }) => name).join());
    const paths = watched(() => open.path);
    const question = await open.add({ parent: open.root, role: 'user', content: 'hello' });
    flushSync();
    await conversations.pin(id, true);
    flushSync();
    expect(paths.map((path) => path.length)).toEqual([0, 1]);
    await open.change(question.id, { status: 'stopped' });
    flushSync();
    expect(paths.map((path) => path.at(-1)?.status)).toEqual([undefined, 'done', 'stopped']);
    const undo = await conversations.remove([id]);
    flushSync();
    await undo();
    flushSync();
    expect(names.at(-1)).toBe('hello');
    expect(names).toContain('');
    storage.close();
  });

  it('show drafts to an effect that is the first to ask for them', async () => {
    const storage = new Storage(`test-${newId()}`);
    const drafts = new Drafts(storage);
    const texts = watched(() => drafts.of('a').text);
    drafts.of('a').text = 'typed';
    flushSync();
    expect(texts.at(-1)).toBe('typed');
    drafts.clear('a');
    flushSync();
    expect(texts.at(-1)).toBe('');
    await drafts.save();
    storage.close();
  });

  it('show settings', () => {
    const settings = new Settings();
    const before = settings.app.textSize;
    const sizes = watched(() => settings.app.textSize);
    settings.app.textSize = 150;
    flushSync();
    settings.app.textSize = before;
    flushSync();
    expect(sizes).toEqual([before, 150, before]);
  });

  it('are the same in two tabs, and after a reload', async () => {
    const name = `test-${newId()}`;
    const [one, two] = [new Storage(name), new Storage(name)];
    const [here, there] = [new Conversations(one), new Conversations(two)];
    await there.start();
    const { id } = await here.create({ name: 'Both' });
    const open = await here.open(id);
    await vi.waitFor(() => expect(there.get(id)?.name).toBe('Both'));
    const other = await there.open(id);
    const sha256 = await putFile(new Blob(['bytes'], { type: 'text/plain' }), one);
    const files = [{ sha256, name: 'a.txt', kind: 'text' as const, type: 'text/plain', bytes: 5, text: 'bytes' }];
    await other.add({ parent: other.root, role: 'user', content: 'from there', files });
    await vi.waitFor(() => expect(open.path.map(({ content }) => content)).toEqual(['from there']));
    one.close();
    two.close();
    const again = new Storage(name);
    const opened = await new Conversations(again).open(id);
    expect(opened.path[0]!.files).toEqual(files);
    expect(await (await getFile(sha256, again))!.text()).toBe('bytes');
    again.close();
  });
});
