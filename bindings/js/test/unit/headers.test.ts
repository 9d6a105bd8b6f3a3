import assert from 'node:assert/strict';
import test from 'node:test';
import { fileFacts, ifRange, parseContentRange, parseRetryAfter, sameFile } from '../../src/download/headers.js';
import { normalizeDigest } from '../../src/sources/digest.js';

test('Content-Range is read as RFC 9110 writes it, and nothing else', () => {
  assert.deepEqual(parseContentRange('bytes 0-99/1000'), { start: 0, end: 99, total: 1000 });
  assert.deepEqual(parseContentRange('bytes 5-5/*'), { start: 5, end: 5, total: null });
  for (const bad of [null, '', 'bytes */1000', 'bytes 9-8/1000', 'bytes 0-1000/1000', 'items 0-1/2', 'bytes 0-1', 'bytes -1-2/9']) {
    assert.equal(parseContentRange(bad), null, String(bad));
  }
});

test('Content-Length says nothing about an encoded body', () => {
  assert.equal(fileFacts(new Headers({ 'Content-Length': '10' }), null).size, 10);
  assert.equal(fileFacts(new Headers({ 'Content-Length': '10', 'Content-Encoding': 'gzip' }), null).size, null);
  assert.equal(fileFacts(new Headers({ 'Content-Length': '10' }), { start: 0, end: 9, total: 50 }).size, 50);
});

test('two states of a file are told apart by size, then by validators', () => {
  const facts = (size: number | null, etag: string | null, lastModified: string | null = null) => ({ size, etag, lastModified });
  assert.equal(sameFile(facts(1, '"a"'), facts(2, '"a"'), true), false);
  assert.equal(sameFile(facts(1, '"a"'), facts(1, '"b"'), true), false);
  assert.equal(sameFile(facts(1, '"a"'), facts(null, '"a"'), false), true);
  assert.equal(sameFile(facts(1, null, 'Mon'), facts(1, '"a"', 'Mon'), false), true);
  assert.equal(sameFile(facts(1, null), facts(1, null), false), false);
  assert.equal(sameFile(facts(1, null), facts(1, null), true), true);
});

test('If-Range takes strong entity tags only', () => {
  assert.equal(ifRange({ size: 1, etag: '"a"', lastModified: 'Mon' }), '"a"');
  assert.equal(ifRange({ size: 1, etag: 'W/"a"', lastModified: 'Mon' }), 'Mon');
  assert.equal(ifRange({ size: 1, etag: 'W/"a"', lastModified: null }), null);
});

test('Retry-After is seconds or a date', () => {
  assert.equal(parseRetryAfter('3', 0), 3000);
  assert.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:05 GMT', 2000), 3000);
  assert.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:05 GMT', 9000), 0);
  assert.equal(parseRetryAfter('soon', 0), null);
  assert.equal(parseRetryAfter(null, 0), null);
});

test('digests are taken in any usual spelling', () => {
  const hex = 'AB'.repeat(32);
  for (const text of [hex, `sha256:${hex}`, `sha256-${hex}`]) assert.equal(normalizeDigest(text), `sha256-${hex.toLowerCase()}`);
  for (const text of ['', 'ab', `md5-${hex}`, `${hex}0`]) assert.equal(normalizeDigest(text), null);
});
