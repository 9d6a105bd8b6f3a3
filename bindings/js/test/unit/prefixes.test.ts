import assert from 'node:assert/strict';
import test from 'node:test';
import { KeptPrefixes } from '../../src/prefixes/kept_prefixes.js';
import { longestChain, parseName, type Piece, pieceHash, pieceName, tooMany } from '../../src/prefixes/pieces.js';
import { TextKeeper } from '../../src/prefixes/text_keeper.js';
import { ListEngine, MemoryPrefixes } from '../support/memory_prefixes.js';

const kIdentity = { page_tokens: 2, page_bytes: 1, state_bytes: [] };
const never = new AbortController().signal;
const range = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

async function pieceOf(tokens: number[], first: number, end: number, more: Partial<Piece> = {}): Promise<Piece> {
  const hash = await pieceHash('x', tokens.slice(0, end));
  return { model: 'm', name: pieceName(first, end, hash), first, end, hash, bytes: 10, usedAt: 1, ...more };
}

test('a name tells what a piece is, and other files are none', async () => {
  const piece = await pieceOf(range(9), 4, 8);
  assert.deepEqual(parseName(piece.name), { first: 4, end: 8, hash: piece.hash });
  for (const name of ['', 'used.json', `${crypto.randomUUID()}.tmp`, `8-4-${piece.hash}`, `4-8-${piece.hash}0`, `4-8-${piece.hash.slice(1)}`, `${piece.name}.tmp`]) {
    assert.equal(parseName(name), null, name);
  }
  assert.notEqual(await pieceHash('x', [1, 2]), await pieceHash('y', [1, 2]));
  assert.notEqual(await pieceHash('x', [1, 2]), await pieceHash('x', [2, 1]));
});

test('the chain that reaches furthest is found, within the text and the limit', async () => {
  const text = range(40);
  const other = [...range(8), ...range(32, 100)];
  const [a, b, c, d, gap, foreign, whole] = await Promise.all([
    pieceOf(text, 0, 8), pieceOf(text, 8, 16), pieceOf(text, 16, 20), pieceOf(text, 16, 24), pieceOf(text, 30, 38), pieceOf(other, 8, 28), pieceOf(text, 0, 16),
  ]);
  const all = [gap, d, foreign, c, b, a];
  assert.deepEqual(await longestChain(all, 'x', text, 39), [a, b, d]);
  assert.deepEqual(await longestChain(all, 'x', text, 23), [a, b, c]);
  assert.deepEqual(await longestChain([...all, whole], 'x', text, 39), [whole, d]);
  assert.deepEqual(await longestChain(all, 'x', other, 39), [a, foreign]);
  assert.deepEqual(await longestChain(all, 'another engine', text, 39), []);
  assert.deepEqual(await longestChain([b], 'x', text, 39), []);
});

test('what was used longest ago goes first, and of a text its end', async () => {
  const text = range(40);
  const pieces = await Promise.all([pieceOf(text, 0, 8, { usedAt: 5 }), pieceOf(text, 8, 16, { usedAt: 5 }), pieceOf(text, 16, 24, { usedAt: 4 }), pieceOf(text, 0, 9, { usedAt: 9, bytes: 30 })]);
  const ends = (bytes: number, count?: number) => tooMany(pieces, bytes, count).map(({ end }) => end);
  assert.deepEqual(ends(60), []);
  assert.deepEqual(ends(59), [24]);
  assert.deepEqual(ends(49), [24, 16]);
  assert.deepEqual(ends(1000, 2), [24, 16]);
  assert.deepEqual(ends(0), [24, 16, 8, 9]);
});

test('what one engine has saved a later one takes up, and what is kept is not saved again', async () => {
  const store = new MemoryPrefixes();
  const first = new ListEngine(kIdentity);
  const kept = await KeptPrefixes.open(first, store, 'm', 1000);
  first.cache = range(11);
  await kept.saveTexts(never);
  assert.deepEqual((await store.list()).map(({ end }) => end), [4, 8]);
  first.cache = range(17);
  await kept.saveTexts(never);
  await kept.saveTexts(never);
  assert.deepEqual((await store.list()).map(({ end }) => end), [4, 8, 12, 16]);
  assert.equal(first.saved, 4);

  const second = new ListEngine(kIdentity);
  const later = await KeptPrefixes.open(second, store, 'm', 1000);
  await later.takeUp('chat', { tokens: [...range(13), 99] });
  assert.deepEqual(second.cache, range(12));
  await later.takeUp('chat', { tokens: range(17) });
  assert.deepEqual(second.cache, range(16));
  await later.takeUp('chat', { tokens: [7, 7] });
  assert.deepEqual(second.cache, range(16));
  const foreign = new ListEngine(kIdentity);
  await (await KeptPrefixes.open(foreign, store, 'another model', 1000)).takeUp('chat', { tokens: range(17) });
  const wider = new ListEngine({ ...kIdentity, page_bytes: 2 });
  await (await KeptPrefixes.open(wider, store, 'm', 1000)).takeUp('chat', { tokens: range(17) });
  assert.deepEqual([foreign.cache, wider.cache], [[], []]);
});

test('texts of recurrent models are kept from their start', async () => {
  const store = new MemoryPrefixes();
  const engine = new ListEngine({ ...kIdentity, state_bytes: [3] });
  const kept = await KeptPrefixes.open(engine, store, 'm', 1000);
  for (const n of [9, 9, 13]) {
    engine.cache = range(n);
    await kept.saveTexts(never);
  }
  assert.deepEqual((await store.list()).map(({ first, end }) => [first, end]), [[0, 8], [0, 12]]);
  const later = new ListEngine({ ...kIdentity, state_bytes: [3] });
  await (await KeptPrefixes.open(later, store, 'm', 1000)).takeUp('complete', { tokens: range(30) });
  assert.deepEqual(later.cache, range(12));
});

test('a damaged piece is removed, a missing one is passed over, and the request goes on', async () => {
  const store = new MemoryPrefixes();
  const engine = new ListEngine(kIdentity);
  const kept = await KeptPrefixes.open(engine, store, 'm', 1000);
  engine.cache = range(13);
  await kept.saveTexts(never);
  const middle = (await store.list()).find(({ end }) => end === 8)!;
  store.files.get(`m/${middle.name}`)!.bytes = new Uint8Array(3);
  const later = new ListEngine(kIdentity);
  const again = await KeptPrefixes.open(later, store, 'm', 1000);
  await again.takeUp('chat', { tokens: range(13) });
  assert.deepEqual(later.cache, range(4));
  assert.deepEqual((await store.list()).map(({ end }) => end), [4, 12]);
  // What is missing is saved the next time.
  later.cache = range(13);
  await again.saveTexts(never);
  assert.deepEqual((await store.list()).map(({ end }) => end).sort((a, b) => a - b), [4, 8, 12]);
  store.files.clear(); // another tab
  const empty = (later.cache = []);
  await again.takeUp('chat', { tokens: range(13) });
  assert.equal(later.cache, empty);
});

test('a full disk, a full quota and a failing engine fail no request', async () => {
  const store = new MemoryPrefixes();
  const engine = new ListEngine(kIdentity);
  const kept = await KeptPrefixes.open(engine, store, 'm', 20);
  engine.cache = range(9);
  await kept.saveTexts(never);
  assert.deepEqual((await store.list()).map(({ end }) => end), [4], 'the second piece would be too much');
  const disk = new MemoryPrefixes();
  disk.full = 10;
  await (await KeptPrefixes.open(engine, disk, 'm', 1000)).saveTexts(never);
  assert.deepEqual((await disk.list()).map(({ end }) => end), [4]);
  engine.prompt = () => Promise.reject(new Error('no such field'));
  await kept.takeUp('chat', {});
  engine.texts = () => Promise.reject(new Error('gone'));
  await kept.saveTexts(never);
});

test('texts are saved when none is written, and a new request stops that', async () => {
  const events: string[] = [];
  const saves: ((stopped: boolean) => void)[] = [];
  const kept = {
    takeUp: async () => void events.push('take up'),
    saveTexts: (signal: AbortSignal) => {
      events.push('save');
      return new Promise<void>((resolve) => {
        saves.push(() => resolve());
        signal.addEventListener('abort', () => {
          events.push('stopped');
          resolve();
        });
      });
    },
  };
  const keeper = new TextKeeper(kept);
  const ends: (() => void)[] = [];
  const request = () => keeper.write('chat', {}, () => (events.push('write'), new Promise<void>((resolve) => ends.push(resolve))));
  const settle = () => new Promise((resolve) => setTimeout(resolve));
  const [one, two] = [request(), request()];
  await settle();
  assert.deepEqual(events.splice(0), ['take up', 'take up', 'write', 'write']);
  ends.shift()!();
  await one;
  await settle();
  assert.deepEqual(events.splice(0), []);
  ends.shift()!();
  await two;
  await settle();
  assert.deepEqual(events.splice(0), ['save']);
  const three = request();
  await settle();
  assert.deepEqual(events.splice(0), ['stopped', 'take up', 'write']);
  ends.shift()!();
  await three;
  let settled = false;
  void keeper.settled().then(() => (settled = true));
  await settle();
  assert.deepEqual([events.splice(0), settled], [['save'], false]);
  saves.at(-1)!(false);
  await settle();
  assert.equal(settled, true);
});
