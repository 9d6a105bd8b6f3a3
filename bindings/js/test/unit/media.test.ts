// Pictures and sounds on their way to the engine, and encoders beside models in storage.
import '../support/browser_globals.js';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { inlined, inlinedPrompt, senseOf } from '../../src/engine/media.js';
import type { ChatRequest } from '../../src/openai_types.js';
import { deleteModels, listModels } from '../../src/sources/model_records.js';
import type { Progress } from '../../src/sources/progress.js';
import { type SourceSpec, splitEncoder, toSourceSpec } from '../../src/sources/source.js';
import { openWithEncoder, rememberEncoder, storedEncoder } from '../../src/sources/with_encoder.js';
import { installFakeLocks } from '../support/fake_locks.js';
import { MemoryStore } from '../support/memory_store.js';
import { madeUpBytes } from '../support/server.mjs';

const chat = (...content: object[]) => ({ messages: [{ role: 'system', content: 'S' }, { role: 'user', content }], seed: 3 }) as unknown as ChatRequest;

test('Blobs become text, and all else stays', async () => {
  const bytes = madeUpBytes(300_001);
  const encoded = Buffer.from(bytes).toString('base64');
  const picture = new Blob([bytes], { type: 'image/png' });
  const text = { type: 'text', text: 'What is this?' };
  const address = { type: 'image_url', image_url: { url: 'data:image/gif;base64,AA==', detail: 'low' } };
  const { messages, seed } = await inlined(
    chat({ type: 'image', image: picture }, { type: 'image_url', image_url: { url: picture, detail: 'high' } }, address, { type: 'audio', audio: picture }, { type: 'input_audio', input_audio: { data: picture, format: 'wav' } }, text),
  );
  assert.equal(seed, 3);
  assert.deepEqual(messages[0], { role: 'system', content: 'S' });
  assert.deepEqual(messages[1]!.content, [
    { type: 'image_url', image_url: { url: `data:image/png;base64,${encoded}` } },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${encoded}`, detail: 'high' } },
    address,
    { type: 'input_audio', input_audio: { data: encoded } },
    { type: 'input_audio', input_audio: { data: encoded, format: 'wav' } },
    text,
  ]);
});

test('what is no Blob where one belongs is refused; what only the engine can judge goes on', async () => {
  await assert.rejects(inlined(chat({ type: 'image', image: 'cat.png' })), { code: 'invalid_argument' });
  await assert.rejects(inlined(chat({ type: 'audio' })), { code: 'invalid_argument' });
  for (const odd of [{ messages: null }, { messages: [null] }, { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }]) {
    assert.deepEqual(await inlined(odd as never), odd);
  }
});

test('a prompt with Blobs becomes one that the engine reads, and others stay', async () => {
  const media = [new Blob([Uint8Array.of(1, 2, 3)]), new Blob([])];
  assert.deepEqual(await inlinedPrompt({ prompt: { prompt: 'a<__media__>$&<__media__>', media }, seed: 1 }, '<$&>'), {
    prompt: { prompt_string: 'a<$&>$&<$&>', multimodal_data: ['AQID', ''] },
    seed: 1,
  });
  for (const prompt of ['<__media__>', [1, 2], null, { prompt_string: 'a' }]) assert.deepEqual(await inlinedPrompt({ prompt } as never), { prompt });
  await assert.rejects(inlinedPrompt({ prompt: { prompt: 'a', media: ['AQID'] } } as never), { code: 'invalid_argument' });
  await assert.rejects(inlinedPrompt({ prompt: { prompt: 'a<__media__>', media } }), /1 marks .* 2 pictures/);
  await assert.rejects(inlinedPrompt({ prompt: { prompt: 'a', media: null } } as never), { code: 'invalid_argument' });
});

test('a sound is told by its first bytes', async () => {
  const sense = (head: string) => senseOf(new Blob([Uint8Array.from(head, (c) => c.charCodeAt(0))]));
  for (const head of ['RIFF\x24\0\0\0WAVE', 'fLaC', 'OggS', 'ID3\x04', '\xff\xfb\x90']) assert.equal(await sense(head), 'audio');
  for (const head of ['RIFF\x24\0\0\0WEBP', '\xff\xd8\xff\xe0', '\x89PNG', '']) assert.equal(await sense(head), 'image');
});

test('an encoder is found among the files of a model', async () => {
  const file = (name: string) => new File(['x'], name);
  const [model, mmproj, other] = [file('m.gguf'), file('mmproj-m-f16.gguf'), file('mmproj-n.gguf')];
  assert.deepEqual(splitEncoder([model, mmproj]), { model: [model], mmproj });
  // One alone is what is to be loaded; of two nobody knows which.
  assert.deepEqual(splitEncoder([mmproj]), { model: [mmproj], mmproj: undefined });
  assert.deepEqual(splitEncoder([model, mmproj, other]), { model: [model, mmproj, other], mmproj: undefined });
  assert.deepEqual(splitEncoder('m.gguf'), { model: 'm.gguf', mmproj: undefined });
});

test('a model that is stored with an encoder has it at the next load, and takes it along when it goes', async () => {
  const store = new MemoryStore();
  const bytes = { 'm.gguf': madeUpBytes(5_000_000), 'mmproj.gguf': madeUpBytes(1_000_000, 7) };
  const spec = (name: keyof typeof bytes) => toSourceSpec(new File([bytes[name]], name), 'https://site.example/');
  const progress: Progress[] = [];
  const options = { openStore: async () => store, signal: new AbortController().signal, keep: true };
  const opened = await openWithEncoder(await spec('m.gguf'), await spec('mmproj.gguf'), (each) => progress.push(each), options);
  assert.deepEqual([opened.name, opened.parts.length, opened.mmproj?.parts[0]?.size], ['m.gguf', 1, 1_000_000]);
  const sha256 = createHash('sha256').update(bytes['m.gguf']).digest('hex');
  assert.equal(await opened.verified, `sha256-${sha256}`);
  assert.deepEqual([progress.at(-1)?.doneBytes, progress.at(-1)?.totalBytes], [6_000_000, 6_000_000]);

  assert.equal(await storedEncoder({ kind: 'name', id: 'm.gguf', name: 'm.gguf' }, store), null);
  await rememberEncoder(await spec('m.gguf'), await spec('mmproj.gguf'), true, options.openStore);

  const named: SourceSpec = { kind: 'name', id: 'm.gguf', name: 'm.gguf' };
  const stored = await storedEncoder(named, store);
  assert.ok(stored);
  const again = await openWithEncoder(named, stored, () => undefined, { ...options, keep: false });
  assert.equal(again.mmproj?.parts[0]?.size, 1_000_000);
  assert.equal(await storedEncoder({ kind: 'name', id: 'mmproj.gguf', name: 'mmproj.gguf' }, store), null);

  const list = await listModels([store]);
  assert.deepEqual(list.map(({ name, mmproj, encoder }) => [name, mmproj, encoder]).sort(), [
    ['m.gguf', 'kept:mmproj.gguf', false],
    ['mmproj.gguf', null, true],
  ]);
  assert.equal(await deleteModels([store], 'm.gguf'), 6_000_000);
  assert.deepEqual(await listModels([store]), []);
});

test('a model whose encoder is open stays as it is when it is to be deleted, and so does one that a store cannot delete', async () => {
  const removeLocks = installFakeLocks();
  const awake = setInterval(() => undefined, 1000); // Node ends where nothing but the time limit of a signal is waited for
  try {
    const store = new MemoryStore();
    const files = ['m.gguf', 'mmproj.gguf'].map((name) => new File([name], name));
    const [model, encoder] = await Promise.all(files.map((file) => toSourceSpec(file, 'https://site.example/')));
    const options = { openStore: async () => store, signal: new AbortController().signal, keep: true };
    const opened = await openWithEncoder(model!, encoder!, () => undefined, options);
    await rememberEncoder(model!, encoder!, true, options.openStore);
    opened.close(); // an engine goes on reading its encoder only
    const before = [await listModels([store]), [...store.blobs.keys()]];
    await assert.rejects(deleteModels([store], 'm.gguf'), { code: 'in_use' });
    assert.deepEqual([await listModels([store]), [...store.blobs.keys()]], before);
    opened.mmproj!.close();
    // What cannot be removed can be listed, and deleted later.
    const remove = store.remove.bind(store);
    store.remove = () => Promise.reject(new DOMException('It is locked.', 'NoModificationAllowedError'));
    await assert.rejects(deleteModels([store], 'm.gguf'), { code: 'in_use' });
    assert.deepEqual([await listModels([store]), [...store.blobs.keys()]], before);
    store.remove = remove;
    assert.equal(await deleteModels([store], 'm.gguf'), 'm.ggufmmproj.gguf'.length);
    assert.deepEqual([await listModels([store]), await store.records.keys()], [[], []]);
  } finally {
    clearInterval(awake);
    removeLocks();
  }
});
