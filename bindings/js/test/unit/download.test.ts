// Downloads from a server that misbehaves, into a store in memory.
import '../support/browser_globals.js';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test, { after, before, beforeEach } from 'node:test';
import { Download, type DownloadOptions, type DownloadRequest } from '../../src/download/download.js';
import type { PunaError } from '../../src/errors.js';
import { MemoryStore } from '../support/memory_store.js';
import { madeUpBytes, startServer } from '../support/server.mjs';

type Server = Awaited<ReturnType<typeof startServer>>;
const size = 21_000_001; // six chunks, the last one short; two are asked for at once
const bytes = madeUpBytes(size);
const other = madeUpBytes(size, 7);
const digestOf = (data: Uint8Array) => `sha256-${createHash('sha256').update(data).digest('hex')}`;
const digest = digestOf(bytes);
let server: Server;
let store: MemoryStore;
let url = '';

before(async () => {
  server = await startServer();
  url = `${server.origin}/m.gguf`;
  (globalThis as unknown as { location: { origin: string } }).location.origin = server.origin;
});
after(() => server.stop());
beforeEach(() => {
  store = new MemoryStore();
  server.log.length = 0;
});

function start(request: Partial<DownloadRequest> = {}, options: Partial<DownloadOptions> = {}): Download {
  const all = { url, key: 'k', digest: null, size: null, ...request };
  return new Download(store, all, { signal: new AbortController().signal, retry: { firstWaitMs: 1 }, runChunks: 2, ...options });
}

const serve = (file: object) => server.files.set('/m.gguf', { bytes, ...file });

async function fails(run: Promise<unknown>): Promise<PunaError> {
  return run.then(
    () => assert.fail('it should have failed'),
    (error) => error,
  );
}

for (const [name, file] of Object.entries({
  'ranges and an entity tag': {},
  'ranges and a date only': { etag: null, lastModified: 'Mon, 02 Nov 2026 10:00:00 GMT' },
  'neither ranges nor validators': { ranges: false, etag: null },
  'no length': { ranges: false, length: false },
  'ranges without validators': { etag: null },
  'a busy answer first': { status: 503, retryAfter: 0, times: 2 },
  'cuts': { cutAfter: 6_000_000, cuts: 4 },
  'cuts and no ranges': { cutAfter: 15_000_000, cuts: 2, ranges: false },
  'cuts and neither ranges nor validators': { cutAfter: 15_000_000, cuts: 2, ranges: false, etag: null },
  'cuts and no length': { cutAfter: 15_000_000, cuts: 2, ranges: false, length: false },
  'ranges that were not asked for': { wrongRange: true },
})) {
  test(`a file is complete and right from a server with ${name}`, async () => {
    serve(file);
    const progress: number[] = [];
    const download = start({}, { onProgress: (done) => progress.push(done) });
    assert.equal(await download.run(), digest);
    assert.deepEqual(Buffer.from(store.blobs.get(digest)!).compare(bytes), 0);
    assert.equal(download.size, size);
    assert.equal(progress.at(-1), size);
    assert.equal(store.partials.size, 0);
  });
}

test('bytes are read while the file comes, also behind what has come', async () => {
  serve({ delay: 1 });
  const download = start();
  const done = download.run();
  await download.opened();
  assert.equal(download.size, size);
  for (const offset of [0, 4_194_000, size - 1000, 11_000_000]) {
    const out = new Uint8Array(1000);
    await download.read(offset, out);
    assert.equal(Buffer.compare(out, bytes.subarray(offset, offset + 1000)), 0);
  }
  await done;
});

test('ranges come over several connections, none twice', async () => {
  serve({});
  await start({}, { connections: 3 }).run();
  assert.equal(server.log.length, 3);
  assert.equal(server.log.reduce((sum, entry) => sum + entry.bytes, 0), size);
});

test('a stopped download goes on where it was, by If-Range', async () => {
  serve({ delay: 1 });
  const stop = new AbortController();
  const first = start({}, { connections: 1, signal: stop.signal, onProgress: (done) => done > 10_000_000 && stop.abort() });
  assert.equal((await fails(first.run())).code, 'aborted');
  const before = store.partials.get('k')!.chunks.size;
  assert.ok(before >= 2, `${before} chunks are kept`);
  server.log.length = 0;
  serve({});
  await start().run();
  const fetched = server.log.reduce((sum, entry) => sum + entry.bytes, 0);
  assert.equal(fetched, size - before * 4194304);
  assert.ok(server.log.every(({ ifRange, status }) => ifRange === '"one"' && status === 206));
  assert.ok(store.blobs.has(digest));
});

test('a file that changed between two visits is downloaded anew', async () => {
  serve({ delay: 1 });
  const stop = new AbortController();
  await fails(start({}, { signal: stop.signal, onProgress: (done) => done > 10_000_000 && stop.abort() }).run());
  serve({ bytes: other, etag: '"two"' });
  assert.equal(await start().run(), digestOf(other));
});

test('a file that became shorter is downloaded anew', async () => {
  serve({ delay: 1 });
  const stop = new AbortController();
  await fails(start({}, { signal: stop.signal, onProgress: (done) => done > 10_000_000 && stop.abort() }).run());
  const short = bytes.subarray(0, 5_000_000);
  serve({ bytes: short, etag: '"two"' });
  assert.equal(await start().run(), digestOf(short));
});

test('a file that changes while nobody has read of it is downloaded anew', async () => {
  let requests = 0;
  serve({ cutAfter: 5_000_000, cuts: 1, onRequest: (_: object, file: object) => ++requests === 3 && Object.assign(file, { bytes: other, etag: '"two"' }) });
  assert.equal(await start({}, { connections: 1 }).run(), digestOf(other));
});

test('a file that changes after somebody read of it fails, and nothing of it is kept', async () => {
  let requests = 0;
  serve({ cutAfter: 5_000_000, cuts: 1, onRequest: (_: object, file: object) => ++requests === 2 && Object.assign(file, { bytes: other, etag: '"two"' }) });
  const download = start({}, { connections: 1 });
  const done = fails(download.run());
  await download.opened();
  const read = download.read(0, new Uint8Array(10));
  assert.equal((await done).code, 'changed');
  await Promise.resolve(read).catch(() => undefined);
  assert.equal((await fails(Promise.resolve(download.read(size - 10, new Uint8Array(10))))).code, 'changed');
  assert.equal(store.partials.size, 0);
});

test('a wrong SHA-256 fails with both, and nothing of it is kept', async () => {
  serve({});
  const error = await fails(start({ digest: `sha256-${'0'.repeat(64)}` }).run());
  assert.equal(error.code, 'corrupt');
  assert.match(error.message, new RegExp(`${digest.slice(7)}.*${'0'.repeat(64)}`));
  assert.equal(store.partials.size + store.blobs.size, 0);
});

test('with the SHA-256 known, a server without validators gives ranges that can be joined', async () => {
  serve({ etag: null, cutAfter: 6_000_000, cuts: 3 });
  assert.equal(await start({ digest }).run(), digest);
  assert.ok(server.log.every(({ status }) => status === 206));
});

test('a file of another size than expected is refused before it is downloaded', async () => {
  serve({});
  const error = await fails(start({ size: 5 }).run());
  assert.equal(error.code, 'corrupt');
  assert.match(error.message, /21000001 bytes, but 5 are expected/);
});

for (const [status, code] of [[404, 'not_found'], [403, 'http'], [400, 'http']] as const) {
  test(`status ${status} fails at once as ${code}`, async () => {
    serve({ status });
    const error = await fails(start().run());
    assert.equal(error.code, code);
    assert.match(error.message, new RegExp(`${status}`));
    assert.equal(server.log.length, 1);
  });
}

test('an empty file is refused', async () => {
  serve({ bytes: new Uint8Array(0) });
  assert.equal((await fails(start().run())).code, 'corrupt');
});

test('a server that cuts every connection is given up, and what came is kept', async () => {
  serve({ cutAfter: 4_500_000 });
  const run = start({}, { connections: 1, retry: { firstWaitMs: 1, attempts: 3 } }).run();
  await run; // each attempt brings a chunk, so it goes on
  serve({ status: 500 });
  store = new MemoryStore();
  const error = await fails(start({}, { retry: { firstWaitMs: 1, attempts: 3 } }).run());
  assert.equal(error.code, 'network');
  assert.match(error.message, /3 failed attempts.*status 500/);
});

test('a server that asks to come back much later is not waited for', async () => {
  serve({ status: 503, retryAfter: 3600 });
  const error = await fails(start().run());
  assert.equal(error.code, 'network');
  assert.match(error.message, /in 3600 seconds/);
});

test('a busy server gets fewer connections', async () => {
  let open = 0;
  serve({ delay: 2, onRequest: (_: object, file: { status?: number }) => (file.status = ++open > 1 && open < 4 ? 429 : undefined) });
  assert.equal(await start({}, { connections: 3 }).run(), digest);
});
