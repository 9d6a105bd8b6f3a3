// Loading models into the browser's storage: cuts, wrong files, full storage, several tabs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test, { after, before, beforeEach } from 'node:test';
import { madeUpBytes } from '../support/server.mjs';
import { buildFake, outcome, startBrowser } from './harness.mjs';

const size = 13_000_003; // four chunks, the last one short
const bytes = madeUpBytes(size);
const hex = createHash('sha256').update(bytes).digest('hex');
const load = `const engine = await Puna.load(arg.url ?? '/m.gguf', arg.options); const { info } = engine; await engine.close(); return { name: info.name, sha256: info.device.name, parts: info.architecture };`;
let run;

before(async () => {
  await buildFake('build/test/fake');
  run = await startBrowser();
});
after(() => run?.stop());
beforeEach(() => {
  run.server.files.clear();
  run.server.log.length = 0;
});

const serve = (file = {}, path = '/m.gguf') => run.server.files.set(path, { bytes, ...file });
const fetched = () => run.server.log.reduce((sum, entry) => sum + entry.bytes, 0);
const stored = (page) => outcome(page, 'return Puna.models.list()');

for (const storage of ['auto', 'opfs', 'cache', 'indexeddb']) {
  test(`storage ${storage}: a model is downloaded once, listed, found again, resumed after a cut, deleted`, async () => {
    const { context, page } = await run.open();
    const options = { storage, connections: 1 };
    // The server goes away after six million bytes: one chunk is stored, what was in flight is lost.
    serve({ onRequest: (_, file) => (run.server.log.length > 1 ? Object.assign(file, { status: 404 }) : Object.assign(file, { cutAfter: 6_000_000, cutWait: 1500 })) });
    const failed = await outcome(page, load, { options });
    assert.equal(failed.code, 'not_found', failed.message);
    assert.deepEqual((await stored(page)).map(({ name, complete, storage: kind }) => [name, complete, kind]), [['m.gguf', false, storage === 'auto' ? 'opfs' : storage]]);
    run.server.log.length = 0;
    serve();
    assert.deepEqual(await outcome(page, load, { options }), { name: 'm.gguf', sha256: hex, parts: 'm.gguf' });
    assert.equal(fetched(), size - 4194304);
    run.server.log.length = 0;
    assert.equal((await outcome(page, load, { options })).sha256, hex);
    assert.equal(run.server.log.length, 0);
    const [model] = await stored(page);
    assert.deepEqual([model.bytes, model.totalBytes, model.complete], [size, size, true]);
    assert.equal(await outcome(page, `return Puna.models.delete('m.gguf')`), size);
    assert.deepEqual(await stored(page), []);
    assert.equal((await outcome(page, `return Puna.models.delete('m.gguf')`)).code, 'not_found');
    await context.close();
  });
}

test('progress tells bytes from network and from storage, and the engine reading them', async () => {
  const { context, page } = await run.open();
  serve({ delay: 5 });
  const collect = `const seen = []; const engine = await Puna.load('/m.gguf', { onProgress: (p) => seen.push(p) }); await engine.close(); return seen;`;
  const first = await outcome(page, collect);
  const downloads = first.filter(({ stage }) => stage === 'download');
  assert.ok(downloads.length > 3, `${downloads.length} reports`);
  assert.ok(downloads.every(({ doneBytes }, i) => i === 0 || doneBytes >= downloads[i - 1].doneBytes));
  assert.deepEqual([downloads.at(-1).doneBytes, downloads.at(-1).totalBytes, downloads.at(-1).source], [size, size, 'network']);
  assert.ok(downloads.at(-1).bytesPerSecond > 0);
  assert.ok(first.some(({ stage, doneBytes }) => stage === 'load' && doneBytes === size));
  const second = await outcome(page, collect);
  assert.ok(second.filter(({ stage }) => stage === 'download').every(({ source }) => source === 'storage'));
  await context.close();
});

test('a wrong SHA-256 is told with both, nothing of the file stays, and the right one can be loaded then', async () => {
  const { context, page } = await run.open();
  serve({ bytes: madeUpBytes(size, 9) });
  const wrong = await outcome(page, load, { url: { url: '/m.gguf', sha256: hex } });
  assert.equal(wrong.code, 'corrupt');
  assert.match(wrong.message, new RegExp(hex));
  assert.deepEqual(await stored(page), []);
  serve();
  assert.equal((await outcome(page, load, { url: { url: '/m.gguf', sha256: hex } })).sha256, hex);
  await context.close();
});

test('a file that is not there leaves nothing behind', async () => {
  const { context, page } = await run.open();
  const missing = await outcome(page, load, { url: '/none.gguf' });
  assert.deepEqual([missing.code, missing.message.includes('/none.gguf')], ['not_found', true]);
  assert.deepEqual(await stored(page), []);
  await context.close();
});

test('the address of a blob tells its digest', async () => {
  const { context, page } = await run.open();
  serve({ bytes: madeUpBytes(size, 9) }, `/blobs/sha256-${hex}`);
  assert.equal((await outcome(page, load, { url: `/blobs/sha256-${hex}` })).code, 'corrupt');
  await context.close();
});

test('a file of a hub has the digest of its pointer: another one is refused, the same one from another address is not fetched again', async () => {
  const { context, page } = await run.open();
  const pointer = { bytes: new TextEncoder().encode(`version https://git-lfs.github.com/spec/v1\noid sha256:${hex}\nsize ${size}\n`) };
  for (const path of ['/o/r/raw/main/m.gguf', '/o/s/raw/main/other.gguf']) serve(pointer, path);
  serve({ bytes: madeUpBytes(size, 9) }, '/o/r/resolve/main/m.gguf');
  const wrong = await outcome(page, load, { url: '/o/r/resolve/main/m.gguf' });
  assert.equal(wrong.code, 'corrupt');
  assert.match(wrong.message, new RegExp(hex));
  assert.deepEqual(await stored(page), []);
  serve({}, '/o/r/resolve/main/m.gguf');
  for (const url of ['/o/r/resolve/main/m.gguf', '/o/s/resolve/main/other.gguf']) assert.equal((await outcome(page, load, { url })).sha256, hex);
  assert.ok(!run.server.log.some(({ path }) => path === '/o/s/resolve/main/other.gguf'));
  await context.close();
});

for (const storage of ['opfs', 'indexeddb']) {
  test(`storage ${storage} that fills up on the way keeps what has arrived`, async () => {
    const { context, page } = await run.open();
    const session = await context.newCDPSession(page);
    serve();
    await session.send('Storage.overrideQuotaForOrigin', { origin: run.server.origin, quotaSize: 10_000_000 });
    const full = await outcome(page, load, { options: { storage } });
    assert.equal(full.code, 'quota', full.message);
    assert.match(full.message, /takes no more \(.* of .* are used\)/);
    await session.send('Storage.overrideQuotaForOrigin', { origin: run.server.origin });
    assert.equal((await outcome(page, load, { options: { storage } })).sha256, hex);
    await context.close();
  });
}

test('a load that is stopped says so as fetch does, and goes on at the next call', async () => {
  const { context, page } = await run.open();
  serve({ delay: 10 });
  const stopped = await outcome(
    page,
    `const stop = new AbortController();
     await Puna.load('/m.gguf', { connections: 1, signal: stop.signal, onProgress: ({ doneBytes }) => doneBytes > 5e6 && stop.abort() });`,
  );
  assert.deepEqual([stopped.code, stopped.name], ['aborted', 'AbortError']);
  run.server.log.length = 0;
  serve();
  assert.equal((await outcome(page, load, {})).sha256, hex);
  assert.ok(fetched() < size, `${fetched()} bytes`);
  await context.close();
});

test('a tab closed in the middle leaves a download that the next visit ends', async () => {
  const { context, page } = await run.open();
  serve({ delay: 10 });
  await page.evaluate(() => {
    globalThis.half = new Promise((resolve) => {
      Puna.load('/m.gguf', { connections: 1, onProgress: ({ doneBytes }) => doneBytes > 9e6 && resolve() }).catch(() => undefined);
    });
    return globalThis.half;
  });
  await page.close();
  run.server.log.length = 0;
  serve();
  const next = await run.openPage(context);
  assert.equal((await outcome(next, load, {})).sha256, hex);
  assert.ok(fetched() <= size - 2 * 4194304, `${fetched()} bytes`);
  await context.close();
});

test('what a cut may leave behind is removed at the next visit', async () => {
  const { context, page } = await run.open();
  await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const blobs = await (await root.getDirectoryHandle('puna', { create: true })).getDirectoryHandle('blobs', { create: true });
    for (const name of ['url-1.part', 'url-2.journal', 'copy-3.part', 'copy-3.journal', 'url-4.part', 'url-4.journal']) await blobs.getFileHandle(name, { create: true });
  });
  serve();
  assert.equal((await outcome(page, load, {})).sha256, hex);
  const names = await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const names = [];
    for await (const name of (await (await root.getDirectoryHandle('puna')).getDirectoryHandle('blobs')).keys()) names.push(name);
    return names.sort();
  });
  assert.deepEqual(names, [`sha256-${hex}`, 'url-4.journal', 'url-4.part']);
  await context.close();
});

for (const storage of ['opfs', 'indexeddb']) {
  test(`storage ${storage}: a model whose encoder is open in a tab cannot be deleted, and stays whole`, async () => {
    const { context, page } = await run.open();
    const second = await run.openPage(context);
    serve();
    serve({ bytes: madeUpBytes(5_000_000, 7) }, '/mmproj.gguf');
    const open = `globalThis.engine = await Puna.load('/m.gguf', { mmproj: '/mmproj.gguf', storage: arg }); return 'open';`;
    // Where it is downloaded, and where it is there already.
    for (let visit = 0; visit < 2; ++visit) {
      assert.equal(await outcome(page, open, storage), 'open');
      const before = await stored(second);
      assert.deepEqual(before.map(({ name, complete, mmproj }) => [name, complete, mmproj !== null]).sort(), [['m.gguf', true, true], ['mmproj.gguf', true, false]]);
      assert.equal((await outcome(second, `return Puna.models.delete('m.gguf')`)).code, 'in_use');
      assert.deepEqual(await stored(second), before);
      await outcome(page, 'return engine.close()');
    }
    assert.equal(await outcome(second, `return Puna.models.delete('m.gguf')`), size + 5_000_000);
    assert.deepEqual(await stored(second), []);
    await context.close();
  });
}

test('two tabs at once download a file once', async () => {
  const { context, page } = await run.open();
  const second = await run.openPage(context);
  serve({ delay: 5 });
  const stages = `const stages = new Set(); const engine = await Puna.load('/m.gguf', { onProgress: ({ stage }) => stages.add(stage) }); const sha256 = engine.info.device.name; await engine.close(); return [sha256, ...stages];`;
  const results = await Promise.all([outcome(page, stages), outcome(second, stages)]);
  assert.deepEqual(results.map((each) => each[0] ?? each), [hex, hex]);
  assert.ok(results.some((each) => each.includes('waiting')), JSON.stringify(results));
  assert.equal(fetched(), size);
  await context.close();
});

test('a stored file that became shorter is told of, and can be deleted and loaded again', async () => {
  const { context, page } = await run.open();
  serve();
  await outcome(page, load, {});
  await page.evaluate(async (name) => {
    const root = await navigator.storage.getDirectory();
    const blobs = await (await root.getDirectoryHandle('puna')).getDirectoryHandle('blobs');
    const writable = await (await blobs.getFileHandle(name)).createWritable({ keepExistingData: true });
    await writable.truncate(5_000_000);
    await writable.close();
  }, `sha256-${hex}`);
  const short = await outcome(page, load, {});
  assert.equal(short.sha256 === hex, false);
  await outcome(page, `return Puna.models.delete('m.gguf')`);
  assert.equal((await outcome(page, load, {})).sha256, hex);
  await context.close();
});

test('a file of another origin is loaded by what its server lets a page see', async () => {
  const { context, page } = await run.open();
  const url = `http://localhost:${run.server.port}/m.gguf`;
  for (const cors of ['plain', 'exposed']) {
    serve({ cors, cutAfter: 5_000_000, cuts: 1 });
    assert.equal((await outcome(page, load, { url })).sha256, hex);
    await outcome(page, `return Puna.models.delete('m.gguf')`);
  }
  serve({});
  const refused = await outcome(page, load, { url, options: {} });
  assert.equal(refused.code, 'network');
  await context.close();
});

// A handle that was collected took with it what it had promised, and the load hung.
test('a load goes on while memory is collected all the time', async () => {
  const busy = await startBrowser({ args: ['--js-flags=--expose-gc'] });
  try {
    const { page } = await busy.open();
    busy.server.files.set('/m.gguf', { bytes });
    const hung = new Promise((resolve) => setTimeout(resolve, 30_000, { message: 'it hangs' }).unref());
    const loaded = await Promise.race([outcome(page, load, {}), hung]);
    assert.equal(loaded.sha256, hex, loaded.message);
  } finally {
    await busy.stop();
  }
});
