import '../support/browser_globals.js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import test from 'node:test';
import { catalogue, findInCatalogue } from '../../src/sources/catalogue.js';
import { weightFiles } from '../../src/sources/folder.js';
import { knownOnHub, parsePointer, pointerAddress } from '../../src/sources/hub.js';
import { DownloadProgress, type Progress, Rate } from '../../src/sources/progress.js';
import { openModel } from '../../src/sources/open_model.js';
import { toSourceSpec } from '../../src/sources/source.js';
import { MemoryStore } from '../support/memory_store.js';
import { startServer } from '../support/server.mjs';

const base = 'https://site.example/app/';
const hex = 'ab'.repeat(32);
const inMemory = (store: MemoryStore) => ({ openStore: async () => store, signal: new AbortController().signal, onProgress: () => undefined });

test('texts and addresses become what crosses to the worker', async () => {
  const spec = async (source: Parameters<typeof toSourceSpec>[0]) => toSourceSpec(source, base);
  assert.deepEqual(await spec('smollm2'), { kind: 'name', id: 'smollm2', name: 'smollm2' });
  assert.deepEqual(await spec('hf:o/r/dir/a b.gguf'), {
    kind: 'url',
    id: 'https://huggingface.co/o/r/resolve/main/dir/a%20b.gguf',
    url: 'https://huggingface.co/o/r/resolve/main/dir/a%20b.gguf',
    digest: null,
    size: null,
    name: 'a b.gguf',
  });
  assert.deepEqual(await spec('hf:mlc-ai/Model-MLC@v1'), {
    kind: 'folder',
    id: 'https://huggingface.co/mlc-ai/Model-MLC/resolve/v1/',
    url: 'https://huggingface.co/mlc-ai/Model-MLC/resolve/v1/',
    name: 'Model-MLC',
  });
  assert.deepEqual(await spec('./m.gguf#top'), { kind: 'url', id: `${base}m.gguf`, url: `${base}m.gguf`, digest: null, size: null, name: 'm.gguf' });
  assert.deepEqual(await spec(`/blobs/sha256-${hex}`), {
    kind: 'url',
    id: `sha256-${hex}`,
    url: `https://site.example/blobs/sha256-${hex}`,
    digest: `sha256-${hex}`,
    size: null,
    name: `sha256-${hex}`,
  });
  const given = await spec({ url: new URL('https://h/m.gguf'), sha256: hex.toUpperCase(), size: 5, name: 'mine' });
  assert.deepEqual(given, { kind: 'url', id: `sha256-${hex}`, url: 'https://h/m.gguf', digest: `sha256-${hex}`, size: 5, name: 'mine' });
});

test('what is no source is refused', async () => {
  for (const bad of ['', 'hf:x', 'ftp://h/m.gguf']) {
    await assert.rejects(async () => toSourceSpec(bad, base), { code: 'invalid_argument' }, bad);
  }
  for (const bad of [null, 5, {}, undefined]) await assert.rejects(async () => toSourceSpec(bad as never, base), { code: 'invalid_argument' });
  const open = async (name: string) => openModel(await toSourceSpec(name, base), inMemory(new MemoryStore()));
  for (const bad of ['a b', 'c:\\m.gguf', '_m']) await assert.rejects(open(bad), { code: 'invalid_argument', message: new RegExp('neither a name') });
  await assert.rejects(open('llama9'), { code: 'not_found', message: /smollm2/ });
});

test('a file that was kept is loaded by its name, whatever that is, and by its id', async () => {
  const store = new MemoryStore();
  const names = ['tiny.gguf', 'Llama-3.2-1B (1).gguf', 'Qwen3+tools.gguf', 'модель.gguf', '_m.gguf', `${'a'.repeat(120)}.gguf`, 'c:\\m.gguf', 'smollm2'];
  for (const name of names) {
    const kept = await openModel(await toSourceSpec(new File([name], name), base), { ...inMemory(store), keep: true });
    for (const text of name === 'smollm2' ? [`kept:${name}`] : [name, `kept:${name}`]) {
      const again = await openModel(await toSourceSpec(text, base), inMemory(store));
      assert.deepEqual([again.name, await again.verified], [name, await kept.verified], text);
    }
  }
});

test('the catalogue is that of the native program', () => {
  const text = fs.readFileSync('../../src/store/catalogue.cpp', 'utf8').replace(/"\s*\n\s*"/g, '');
  const entries = [...text.matchAll(/\.model = "(.*?)"[^]*?\.tag = "(.*?)"[^]*?\.title = "(.*?)"[^]*?\.family = "(.*?)"[^]*?\.parameters = "(.*?)"[^]*?\.file_type = "(.*?)"[^]*?\.digest =\s*digest_literal\("(.*?)"\)[^]*?\.bytes = (\d+)[^]*?\.url = "(.*?)"/g)];
  const native = entries.map(([, model, tag, title, family, parameters, fileType, sha256, bytes, url]) => {
    return { name: `${model}:${tag}`, title, family, parameters, fileType, sha256, bytes: Number(bytes), url };
  });
  assert.ok(native.length > 0);
  assert.deepEqual(catalogue.map(({ license: _, ...entry }) => entry), native);
  assert.equal(findInCatalogue('smollm2'), findInCatalogue('smollm2:latest'));
  assert.equal(findInCatalogue('gemma3'), null);
});

test('the weight files of a folder come from its index, and must lie in the folder', async () => {
  const url = 'https://h/m/';
  const reader = (files: Record<string, unknown>) => async (path: string) => (path in files ? JSON.stringify(files[path]) : null);
  const mlc = { 'mlc-chat-config.json': {}, 'tensor-cache.json': { records: [{ dataPath: 'p0.bin', nbytes: 7 }] } };
  assert.deepEqual(await weightFiles(url, reader(mlc)), [{ path: 'p0.bin', url: 'https://h/m/p0.bin', digest: null, size: 7 }]);
  const hf = { 'config.json': {}, 'model.safetensors.index.json': { weight_map: { a: '2.safetensors', b: '1.safetensors', c: '2.safetensors' } } };
  assert.deepEqual((await weightFiles(url, reader(hf))).map(({ path }) => path), ['1.safetensors', '2.safetensors']);
  assert.deepEqual((await weightFiles(url, reader({ 'config.json': {} }))).map(({ path }) => path), ['model.safetensors']);
  for (const [files, code] of [
    [{}, 'not_found'],
    [{ 'mlc-chat-config.json': {} }, 'not_found'],
    [{ ...mlc, 'tensor-cache.json': { records: [{ dataPath: '../p0.bin', nbytes: 7 }] } }, 'corrupt'],
    [{ ...mlc, 'tensor-cache.json': { records: [{}] } }, 'corrupt'],
    [{ ...mlc, 'tensor-cache.json': [] }, 'corrupt'],
    [{ ...mlc, 'tensor-cache.json': 5 }, 'corrupt'],
  ] as const) {
    await assert.rejects(weightFiles(url, reader(files)), { code });
  }
});

test('the rate is that of the last seconds', () => {
  const rate = new Rate();
  assert.equal(rate.value, null);
  for (let second = 0; second <= 10; ++second) rate.add(second * 1000, second < 5 ? 0 : (second - 4) * 2e6);
  assert.equal(rate.value, 2e6);
});

test('progress sums the files, and says at once when all is there', () => {
  const seen: Progress[] = [];
  const progress = new DownloadProgress((each) => seen.push(each));
  progress.update('a', { done: 1, total: 10, network: true });
  progress.update('b', { done: 0, total: null });
  progress.update('b', { done: 5, total: 5 });
  progress.update('a', { done: 10 });
  assert.deepEqual(seen.map(({ doneBytes, totalBytes }) => [doneBytes, totalBytes]), [[1, 10], [15, 15]]);
});

test('the hub tells SHA-256 and size of a file by the pointer in its place', async () => {
  const server = await startServer();
  const pointer = (text: string) => ({ bytes: new TextEncoder().encode(text) });
  const good = `version https://git-lfs.github.com/spec/v1\noid sha256:${hex}\nsize 12345\n`;
  server.files.set('/o/r/raw/main/dir/m.gguf', pointer(good));
  server.files.set('/o/r/raw/main/whole.gguf', pointer('x'.repeat(5000))); // not kept by Git LFS
  const known = (path: string, signal = new AbortController().signal) => knownOnHub(server.origin + path, signal);
  try {
    assert.deepEqual(await known('/o/r/resolve/main/dir/m.gguf'), { digest: `sha256-${hex}`, size: 12345 });
    assert.equal(await known('/o/r/resolve/main/whole.gguf'), null);
    assert.equal(await known('/o/r/resolve/main/missing.gguf'), null);
    assert.equal(await known('/o/r/resolve/main/dir/m.gguf', AbortSignal.abort()), null);
  } finally {
    await server.stop();
  }
  assert.equal(await known('/o/r/resolve/main/dir/m.gguf'), null); // nobody there
  const silent = net.createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as net.AddressInfo;
  assert.equal(await knownOnHub(`http://127.0.0.1:${port}/o/r/resolve/main/m.gguf`, new AbortController().signal, 50), null);
  silent.close();
  assert.equal(pointerAddress('https://h/o/r/resolve/v1/a%20b.safetensors?x=1'), 'https://h/o/r/raw/v1/a%20b.safetensors?x=1');
  for (const other of ['https://h/o/r/resolve/v1/config.json', 'https://h/m.gguf', 'https://h/resolve/main/m.gguf']) assert.equal(pointerAddress(other), null);
  for (const bad of [good.replace('spec/v1', 'spec/v2'), good.replace('size 12345', 'size many'), good.replace(hex, 'abc'), good.slice(0, 60), '']) {
    assert.equal(parsePointer(bad), null, bad);
  }
});
