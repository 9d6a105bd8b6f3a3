import '../support/browser_globals.js';
import assert from 'node:assert/strict';
import test from 'node:test';
import { ChunkWriter } from '../../src/download/chunk_writer.js';
import { chunkCount, chunkLength, kChunkBytes } from '../../src/storage/blob_store.js';
import { decodeJournal, encodeJournal } from '../../src/storage/journal.js';
import { checkQuota, formatBytes } from '../../src/storage/quota.js';

const header = { url: 'https://host/ä.gguf', size: 9_000_000, digest: 'sha256-00', etag: '"x"', lastModified: null };

test('a journal is read back with its chunks, and cut anywhere is either shorter or none', () => {
  const bytes = new Uint8Array([...encodeJournal(header), 1, 0, 1]);
  const journal = decodeJournal(bytes)!;
  assert.deepEqual(journal.header, header);
  assert.deepEqual(journal.chunks, [true, false, true]);
  for (let n = 0; n < bytes.length; ++n) {
    const cut = decodeJournal(bytes.subarray(0, n));
    if (n < journal.mapOffset) assert.equal(cut, null, `${n}`);
    else assert.deepEqual(cut!.chunks, [true, false, true].slice(0, n - journal.mapOffset));
  }
});

test('bytes that are no journal are none', () => {
  const encoder = new TextEncoder();
  for (const text of ['', '[]', 'null', '{}', '{"url":5}', '{"url":"x"']) {
    const json = encoder.encode(text);
    const bytes = new Uint8Array(4 + json.length);
    new DataView(bytes.buffer).setUint32(0, json.length, true);
    bytes.set(json, 4);
    assert.equal(decodeJournal(bytes), null, text);
  }
  assert.equal(decodeJournal(new Uint8Array(100).fill(255)), null);
});

test('chunks cover a file with a shorter one at its end', () => {
  for (const size of [1, kChunkBytes - 1, kChunkBytes, kChunkBytes + 1, 3 * kChunkBytes]) {
    let sum = 0;
    for (let chunk = 0; chunk < chunkCount(size); ++chunk) sum += chunkLength(chunk, size);
    assert.equal(sum, size);
  }
});

test('a stream in pieces of any length becomes whole chunks', async () => {
  const size = 2 * kChunkBytes + 12345;
  const bytes = new Uint8Array(size).map((_, i) => i % 251);
  for (const piece of [100_003, kChunkBytes, kChunkBytes + 1, size]) {
    for (const known of [size, null]) {
      const lengths: number[] = [];
      const writer = new ChunkWriter(0, known, async (chunk, bytes) => {
        assert.equal(chunk, lengths.length);
        assert.equal(bytes[0], (chunk * kChunkBytes) % 251);
        lengths.push(bytes.length);
      });
      for (let at = 0; at < size; at += piece) await writer.push(bytes.subarray(at, at + piece));
      await writer.finish();
      assert.deepEqual(lengths, [kChunkBytes, kChunkBytes, 12345], `pieces of ${piece}, size ${known}`);
    }
  }
});

test('sizes are written for people', () => {
  assert.deepEqual([0, 999, 1500, 98362432, 2 ** 40].map(formatBytes), ['0 bytes', '999 bytes', '1.5 kB', '98.4 MB', '1.1 TB']);
});

test('too little storage is told with what is needed and what there is', async () => {
  const storage = { estimate: async () => ({ quota: 20_000_000, usage: 15_000_000 }) };
  Object.defineProperty(globalThis.navigator, 'storage', { value: storage, configurable: true });
  await checkQuota(5_000_000, 'm.gguf');
  await assert.rejects(checkQuota(98_362_432, 'm.gguf'), {
    code: 'quota',
    message: /^m\.gguf needs 98\.4 MB more of storage, but the browser lets this site keep only 5\.0 MB more \(15\.0 MB of 20\.0 MB are used\)/,
  });
  delete (globalThis.navigator as { storage?: unknown }).storage;
});
