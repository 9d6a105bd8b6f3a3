// What one tab does at a time, and what the one that waits says.
import '../support/browser_globals.js';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test, { afterEach, beforeEach } from 'node:test';
import { DownloadProgress } from '../../src/sources/progress.js';
import { openRemoteFile } from '../../src/sources/remote_file.js';
import { downloadLock, isLeftover, withLock } from '../../src/storage/locks.js';
import { installFakeLocks } from '../support/fake_locks.js';
import { MemoryStore } from '../support/memory_store.js';
import { madeUpBytes, startServer } from '../support/server.mjs';

let remove: () => void;
beforeEach(() => (remove = installFakeLocks()));
afterEach(() => remove());

// A lock that is held until the function is called.
function hold(name: string): () => void {
  let release!: () => void;
  void withLock(name, undefined, () => new Promise<void>((resolve) => (release = resolve)));
  return () => release();
}
const turn = () => new Promise((resolve) => setTimeout(resolve));

test('of two tabs that open a file one waits and says so, however close they come', async () => {
  const server = await startServer();
  (globalThis as unknown as { location: { origin: string } }).location.origin = server.origin;
  try {
    const bytes = madeUpBytes(100);
    const digest = `sha256-${createHash('sha256').update(bytes).digest('hex')}`;
    server.files.set('/m.gguf', { bytes });
    // With one of these distances the second comes into any gap that there is between what the first does before its bytes come.
    for (let behind = 0; behind < 24; ++behind) {
      const store = new MemoryStore();
      const open = async () => {
        let waited = false;
        const progress = new DownloadProgress(({ stage }) => (waited ||= stage === 'waiting'));
        const file = { path: 'm.gguf', url: `${server.origin}/m.gguf`, digest, size: bytes.length };
        const opened = await openRemoteFile(file, { store, progress, signal: new AbortController().signal });
        await opened.digest;
        opened.close();
        return waited;
      };
      const first = open();
      for (let i = 0; i < behind; ++i) await Promise.resolve();
      assert.deepEqual(await Promise.all([first, open()]), [false, true], `${behind} turns behind`);
    }
  } finally {
    await server.stop();
  }
});

test('who need not wait does not say so, and gets what was done', async () => {
  const told: string[] = [];
  assert.equal(await withLock('a', undefined, async () => 5, () => told.push('waits')), 5);
  await assert.rejects(withLock('a', undefined, () => Promise.reject(new Error('not done')), () => told.push('waits')), /not done/);
  assert.equal(await withLock('a', undefined, async () => null, () => told.push('waits')), null);
  const release = hold('a');
  await turn();
  const waiting = withLock('a', undefined, async () => 6, () => told.push('waits'));
  await turn();
  assert.deepEqual(told, ['waits']);
  release();
  assert.equal(await waiting, 6);
});

test('a stop is heard before a lock is asked for, on the way to it, and while it is waited for', async () => {
  const reason = new Error('stopped');
  const run = async () => assert.fail('it was stopped');
  await assert.rejects(withLock('a', AbortSignal.abort(reason), run, () => undefined), reason);

  const onTheWay = new AbortController();
  const asked = withLock('a', onTheWay.signal, run, () => undefined);
  onTheWay.abort(reason);
  await assert.rejects(asked, reason);

  const release = hold('a');
  await turn();
  const waits = new AbortController();
  const waiting = withLock('a', waits.signal, run, () => waits.abort(reason));
  await assert.rejects(waiting, reason);
  release();
  // It is free for the next one.
  assert.equal(await withLock('a', undefined, async () => 7), 7);
});

test('a copy is left over when nobody holds its lock', async () => {
  const release = hold(downloadLock('copy-1'));
  await turn();
  assert.deepEqual(await Promise.all(['copy-1', 'copy-2', 'url-1'].map(isLeftover)), [false, true, false]);
  release();
  await turn();
  assert.equal(await isLeftover('copy-1'), true);
});
