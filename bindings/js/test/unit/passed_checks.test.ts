// The self-tests that need not be made again.
import assert from 'node:assert/strict';
import test from 'node:test';
import { PassedChecks } from '../../src/engine/passed_checks.js';
import { MemoryStore } from '../support/memory_store.js';

const kDay = 24 * 3600 * 1000;

test('a check that passed is remembered for a week', async () => {
  const { records } = new MemoryStore();
  let now = 1e12;
  const checks = new PassedChecks(async () => records, () => now);
  assert.deepEqual(await checks.list(), []);
  await checks.add('a GPU');
  now += 3 * kDay;
  await checks.add('another one');
  assert.deepEqual((await checks.list()).sort(), ['a GPU', 'another one']);
  now += 4 * kDay;
  assert.deepEqual(await checks.list(), ['another one']);
  now -= 30 * kDay; // a clock that was put back
  assert.deepEqual(await checks.list(), []);
});

test('a record that is no record, and storage that is refused, count for nothing', async () => {
  const { records } = new MemoryStore();
  const checks = new PassedChecks(async () => records);
  for (const value of ['text', 7, ['a'], { 'a GPU': 'yesterday' }]) {
    await records.put('passed-checks', value);
    assert.deepEqual(await checks.list(), []);
  }
  await checks.add('a GPU');
  assert.deepEqual(await checks.list(), ['a GPU']);
  const refused = new PassedChecks(() => Promise.reject(new Error('a private window')));
  await refused.add('a GPU');
  assert.deepEqual(await refused.list(), []);
});
