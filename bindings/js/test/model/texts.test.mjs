// Texts that are kept in the browser's storage, with the real engine and tiny models: a visit goes on where an earlier one was, and what
// cuts, damage, two tabs and a full storage leave is healed by the next one.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { outcome, startBrowser } from '../browser/harness.mjs';
import { buildReal } from './real.mjs';

const goldens = path.resolve('../../tests/goldens');
const kFolder = 'small_qwen35-bf16';
let run;

before(async () => {
  run = await startBrowser({ folders: { '/dist/': await buildReal() } });
  for (const name of ['llama-q4_0', 'gemma3-q8_0']) run.server.files.set(`/${name}.gguf`, { bytes: fs.readFileSync(path.join(goldens, `${name}.gguf`)) });
  for (const name of fs.readdirSync(path.join(goldens, kFolder))) run.server.files.set(`/${kFolder}/${name}`, { bytes: fs.readFileSync(path.join(goldens, kFolder, name)) });
});
after(() => run?.stop());

const prompt = (n, seed = 0) => Array.from({ length: n }, (_, i) => ((i * 37 + seed * 13) % 90) + 3);
// Writes texts, one after the other; gives their tokens, and how many of the prompt's each did not have to compute.
const write = `
  const engine = globalThis.engine = await Puna.load(arg.model ?? '/llama-q4_0.gguf', { device: 'cpu', keepTexts: true, ...arg.options });
  const answers = [];
  for (const prompt of arg.prompts) {
    const tokens = [];
    let last;
    for await (const chunk of engine.complete({ prompt, max_tokens: arg.n ?? 12, temperature: 0.7, seed: 5, ignore_eos: true, return_tokens: true })) {
      last = chunk;
      tokens.push(...(chunk.tokens ?? []));
    }
    answers.push({ tokens, cached: last.usage.prompt_tokens_details.cached_tokens });
  }
  const { keepsTexts } = engine.info;
  if (!arg.open) await engine.close();
  return { answers, keepsTexts, kept: await Puna.texts.kept() };`;

// The folder of pieces, as a page sees it.
const folder = `
  const puna = await (await navigator.storage.getDirectory()).getDirectoryHandle('puna');
  const prefixes = await puna.getDirectoryHandle('prefixes');
  const files = [];
  for await (const [model, handle] of prefixes.entries()) if (handle.kind === 'directory') for await (const [name, file] of handle.entries()) files.push({ model, name, folder: handle, file });`;
const names = (page) => outcome(page, `${folder} return files.map(({ name }) => name).sort();`);

for (const model of ['/llama-q4_0.gguf', '/gemma3-q8_0.gguf', `/${kFolder}/`]) {
  test(`${model}: after a reload a text goes on without computing its beginning, and is the same`, async () => {
    const { context, page } = await run.open();
    const begun = await outcome(page, write, { model, prompts: [prompt(150)] });
    assert.equal(begun.keepsTexts?.on, true, JSON.stringify(begun));
    assert.ok(begun.kept.pieces > 0, JSON.stringify(begun));
    const more = [...prompt(150), ...begun.answers[0].tokens, ...prompt(20, 2)];
    const without = await outcome(page, write, { model, prompts: [more], options: { keepTexts: false } });
    assert.deepEqual([without.keepsTexts, without.answers[0].cached], [{ on: false, why: 'keepTexts is not set' }, 0]);
    await page.reload();
    await page.waitForFunction(() => globalThis.Puna);
    const after = await outcome(page, write, { model, prompts: [more] });
    assert.ok(after.answers[0].cached >= 128, JSON.stringify(after));
    assert.deepEqual(after.answers[0].tokens, without.answers[0].tokens);
    // The model goes, and with it what was kept.
    const name = (await outcome(page, 'return Puna.models.list()'))[0].name;
    await outcome(page, `return Puna.models.delete('${name}')`);
    assert.deepEqual(await outcome(page, 'return Puna.texts.kept()'), { pieces: 0, bytes: 0 });
    await context.close();
  });
}

test('another cache type computes anew, and both are kept; clearing removes all', async () => {
  const { context, page } = await run.open();
  const first = await outcome(page, write, { prompts: [prompt(100)] });
  const other = await outcome(page, write, { prompts: [prompt(100)], options: { kvType: 'f32' } });
  assert.equal(other.answers[0].cached, 0);
  assert.equal(other.kept.pieces, 2 * first.kept.pieces);
  const again = await outcome(page, write, { prompts: [prompt(100)] });
  assert.equal(again.answers[0].cached, 96);
  assert.equal(await outcome(page, 'return Puna.texts.clear()'), again.kept.bytes);
  assert.deepEqual(await outcome(page, 'return Puna.texts.kept()'), { pieces: 0, bytes: 0 });
  assert.equal(await outcome(page, 'return Puna.texts.clear()'), 0);
  assert.equal((await outcome(page, write, { prompts: [prompt(100)] })).answers[0].cached, 0);
  await context.close();
});

test('damaged and cut pieces, leftovers and a broken record of use are healed by the next visit', async () => {
  const { context, page } = await run.open();
  const first = await outcome(page, write, { prompts: [prompt(100)] });
  const leave = `
    for (const name of ['x.tmp', 'other']) await files[0].folder.getFileHandle(name, { create: true });
    const used = await (await prefixes.getFileHandle('used.json', { create: true })).createWritable();
    await used.write('{"a');
    await used.close();`;
  for (const change of [
    `write({ type: 'write', position: 5000, data: new Uint8Array([1, 2, 3, 4, 5, 6, 7]) })`,
    `write({ type: 'write', position: 8, data: new Uint8Array([9]) })`, // of a later version
    'truncate(4000)',
    'truncate(0)',
  ]) {
    const harm = `const writable = await file.createWritable({ keepExistingData: true }); await writable.${change}; await writable.close();`;
    const before = await names(page);
    await outcome(page, `${folder} for (const { file } of files) { ${harm} } ${leave}`);
    assert.equal((await names(page)).length, before.length + 2);
    const healed = await outcome(page, write, { prompts: [prompt(100)] });
    assert.equal(healed.answers[0].cached, 0, JSON.stringify(healed));
    assert.deepEqual(healed.answers[0].tokens, first.answers[0].tokens);
    assert.deepEqual(await names(page), before, 'saved again, and nothing else is there');
    assert.equal((await outcome(page, write, { prompts: [prompt(100)] })).answers[0].cached, 96);
  }
  await context.close();
});

test('a tab that closes in the middle of a save leaves nothing that the next one could take for a text', async () => {
  const { context, page } = await run.open();
  await outcome(page, write, { prompts: [prompt(60)], open: true });
  // Saves are slow here: the tab closes while one runs.
  for (const wait of [0, 5, 20, 60]) {
    const tab = await run.openPage(context);
    await outcome(tab, write, { prompts: [prompt(200, wait + 1)], open: true });
    await tab.waitForTimeout(wait);
    await tab.close();
  }
  const last = await run.openPage(context);
  for (const wait of [0, 5, 20, 60]) {
    const [{ tokens }] = (await outcome(last, write, { prompts: [prompt(200, wait + 1)] })).answers;
    const [{ tokens: wanted }] = (await outcome(last, write, { prompts: [prompt(200, wait + 1)], options: { keepTexts: false } })).answers;
    assert.deepEqual(tokens, wanted);
  }
  assert.ok((await names(last)).every((name) => /^\d+-\d+-[0-9a-f]{40}$/.test(name)), 'no leftovers');
  await context.close();
});

test('two tabs keep and take up the same texts at once', async () => {
  const { context, page } = await run.open();
  const tabs = [page, await run.openPage(context)];
  // A visit for each text: one that another text follows at once is not saved.
  const visit = () => Promise.all(tabs.map(async (tab) => {
    const answers = [];
    for (const seed of [1, 2, 3]) answers.push((await outcome(tab, write, { prompts: [prompt(100, seed)] })).answers[0]);
    return answers;
  }));
  const tokensOf = (answers) => answers.map(({ tokens }) => tokens);
  const [first, second] = await visit();
  assert.deepEqual(tokensOf(first), tokensOf(second));
  const kept = await names(page);
  for (const answers of await visit()) {
    assert.deepEqual(tokensOf(answers), tokensOf(first));
    assert.ok(answers.every(({ cached }) => cached >= 96), JSON.stringify(answers));
  }
  assert.deepEqual(await names(page), kept);
  await context.close();
});

test('no more is kept than the limit says, and a browser whose storage is full keeps none', async () => {
  const { context, page } = await run.open();
  const one = (await outcome(page, write, { prompts: [prompt(100)] })).kept.bytes;
  const options = { keepTexts: { bytes: Math.floor(2.5 * one) } };
  for (const seed of [1, 2, 3]) {
    const { kept } = await outcome(page, write, { prompts: [prompt(100, seed)], options });
    assert.ok(kept.bytes <= options.keepTexts.bytes, `${kept.bytes}`);
  }
  // The two that were used last are there.
  for (const [seed, cached] of [[3, 96], [2, 96], [0, 0]]) {
    assert.equal((await outcome(page, write, { prompts: [prompt(100, seed)], options })).answers[0].cached, cached, `text ${seed}`);
  }
  const session = await context.newCDPSession(page);
  const { kept } = await outcome(page, write, { prompts: [] });
  await session.send('Storage.overrideQuotaForOrigin', { origin: run.server.origin, quotaSize: 1000 });
  const full = await outcome(page, write, { prompts: [prompt(100, 7)] });
  assert.equal(full.answers?.[0].tokens.length, 12, JSON.stringify(full));
  assert.deepEqual(full.kept, kept);
  await session.send('Storage.overrideQuotaForOrigin', { origin: run.server.origin });
  for (const cached of [0, 96]) assert.equal((await outcome(page, write, { prompts: [prompt(100, 7)] })).answers[0].cached, cached);
  await context.close();
});

test('what is no limit is refused, and files read in place are told of', async () => {
  const { context, page } = await run.open();
  for (const value of [{ bytes: 0 }, { bytes: 1.5 }, 'yes', null]) {
    const refused = await outcome(page, write, { prompts: [], options: { keepTexts: value } });
    assert.equal(refused.code, 'invalid_argument', JSON.stringify(refused));
    assert.match(refused.message, /keepTexts is /);
  }
  const bytes = [...fs.readFileSync(path.join(goldens, 'llama-q4_0.gguf'))];
  const local = await outcome(
    page,
    `const file = new File([Uint8Array.from(arg)], 'm.gguf'); const out = [];
     for (const keep of [false, true]) { const engine = await Puna.load(file, { device: 'cpu', keepTexts: true, keep }); out.push(engine.info.keepsTexts); await engine.close(); }
     return out;`,
    bytes,
  );
  assert.deepEqual(local.map(({ on }) => on), [false, true], JSON.stringify(local));
  assert.match(local[0].why, /no SHA-256/);
  await context.close();
});
