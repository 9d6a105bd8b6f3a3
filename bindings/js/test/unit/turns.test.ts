import assert from 'node:assert/strict';
import test from 'node:test';
import { Turns } from '../../src/engine/turns.js';

const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

test('texts run together, everything else alone and in order', async () => {
  const turns = new Turns();
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const take = (how: 'alone' | 'together', name: string, signal?: AbortSignal) =>
    turns.take(
      how,
      async () => {
        log.push(`+${name}`);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        log.push(`-${name}`);
        return name;
      },
      signal,
    );
  const given = new AbortController();
  const calls = [take('together', 'a'), take('together', 'b'), take('alone', 'c'), take('together', 'd')];
  const up = take('alone', 'given up', given.signal);
  calls.push(take('together', 'e'));
  await pause();
  assert.deepEqual(log, ['+a', '+b']);
  given.abort();
  await assert.rejects(up, { name: 'AbortError' });
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    ends.get(name)!();
    await pause();
  }
  assert.deepEqual(await Promise.all(calls), ['a', 'b', 'c', 'd', 'e']);
  assert.deepEqual(log, ['+a', '+b', '-a', '-b', '+c', '-c', '+d', '-d', '+e', '-e']);
});

test('a use that fails lets the next one in', async () => {
  const turns = new Turns();
  await assert.rejects(turns.take('alone', () => Promise.reject(new Error('no'))), { message: 'no' });
  assert.equal(await turns.take('alone', async () => 'yes'), 'yes');
});
