// Pictures and sounds with the real engine: an encoder's rows beside its reference, chats with Blobs, what is refused, and what is kept of a
// model with an encoder. PUNA_MEDIA_GOLDENS names a folder of further models with references: NAME.gguf, NAME-mmproj.gguf, NAME.txt,
// NAME.json, inputs/, and for each file pixels.npz, embed.npy and logits.npy; PUNA_GOLDENS_GPU=all runs all of them on the GPU adapter too.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { outcome, startBrowser } from '../browser/harness.mjs';
import { nmse, readNpy, readNpz } from '../support/npy.mjs';
import { widerEncoder } from '../support/wider_encoder.mjs';
import { withTemplate } from '../support/with_template.mjs';
import { buildReal } from './real.mjs';

const root = path.resolve('../..');
const golden = process.env.PUNA_MEDIA_GOLDENS;
const kLlamaWidth = 64;
const kPicture = 25; // tokens
let run;

before(async () => {
  run = await startBrowser({ folders: { '/dist/': await buildReal(), ...(golden ? { '/golden/': golden } : {}) } });
  const put = (address, bytes) => run.server.files.set(address, { bytes });
  put('/llama.gguf', withTemplate(fs.readFileSync(path.join(root, 'tests/goldens/llama-q4_0.gguf'))));
  put('/mmproj.gguf', widerEncoder(fs.readFileSync(path.join(root, 'tests/encoders/llava.gguf')), kLlamaWidth));
  put('/narrow.gguf', fs.readFileSync(path.join(root, 'tests/encoders/llava.gguf')));
  for (const name of ['photo.png', 'photo.jpg', 'bytes.wav']) put(`/${name}`, fs.readFileSync(path.join(root, 'tests/fixtures/media', name)));
});
after(() => run?.stop());

// Values cross from the page as base64: lists of numbers take minutes.
const floats = (base64) => new Float32Array(Uint8Array.from(Buffer.from(base64, 'base64')).buffer);
const base64 = (values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');
const help = `const toText = (floats) => { let text = ''; for (const b of new Uint8Array(floats.buffer)) text += String.fromCharCode(b); return btoa(text); };
const toFloats = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const blob = async (address) => (await fetch(address)).blob();
const goesOn = async (engine, prompt, max_tokens) => {
  const ids = [];
  for await (const chunk of engine.complete({ prompt, max_tokens, temperature: 0, ignore_eos: true, return_tokens: true })) ids.push(...(chunk.tokens ?? []));
  return ids;
};`;

async function inPage(code, argument) {
  const { context, page } = await run.open();
  page.setDefaultTimeout(0);
  try {
    const answer = await outcome(page, help + code, argument);
    if (answer?.message) assert.fail(`${answer.code}: ${answer.message}`);
    return answer;
  } finally {
    await context.close();
  }
}

// As tools/make_tiny_encoders.py makes it.
function pattern(n) {
  return Float32Array.from({ length: n }, (_, i) => {
    const hash = Number((BigInt(i + 1) * BigInt(i + 1) * 2654435761n) & 0xffffffffn);
    return Math.fround((hash >>> 8) / (1 << 23) - 1);
  });
}

for (const device of ['cpu', 'gpu']) {
  test(`an encoder gives the rows of its reference on the ${device}`, async (t) => {
    const { shape, values } = readNpy(path.join(root, 'tests/encoders/llava.npy'));
    const answer = await inPage(
      `const engine = await Puna.load('/llama.gguf', { device: '${device}', numerics: 'exact', mmproj: '/mmproj.gguf' });
       return { media: engine.info.media, type: engine.info.device.type, rows: toText(await engine.embedMedia({ values: toFloats(arg), shape: [1, 20, 20, 3] })) };`,
      base64(pattern(20 * 20 * 3)),
    );
    assert.match(answer.media.marker, /^<__media_\w{32}__>$/);
    assert.deepEqual({ ...answer.media, marker: '' }, { images: true, audio: false, width: kLlamaWidth, marker: '' });
    assert.equal(answer.type, device);
    const rows = floats(answer.rows);
    assert.equal(rows.length, shape[0] * kLlamaWidth);
    const [, width] = shape;
    const own = Float32Array.from(values, (_, i) => rows[Math.floor(i / width) * kLlamaWidth + (i % width)]);
    const error = nmse(own, values);
    t.diagnostic(`NMSE ${error.toExponential(1)}`);
    assert.ok(error < 1e-9, `NMSE ${error}`);
    assert.ok(rows.every((value, i) => i % kLlamaWidth < width || value === 0));
  });
}

test('a chat takes Blobs and data: addresses alike, counts them, and says how long its prompt was', async () => {
  const answer = await inPage(
    `const engine = await Puna.load('/llama.gguf', { device: 'cpu', mmproj: '/mmproj.gguf' });
     const picture = await blob('/photo.png');
     const url = await new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result); reader.readAsDataURL(picture); });
     const ask = async (part) => {
       const messages = [{ role: 'user', content: [part, { type: 'text', text: 'What is this?' }] }];
       const count = await engine.countTokens({ messages });
       const whole = await engine.chat({ messages, max_tokens: 8, temperature: 0, ignore_eos: true }).completion();
       return { count, used: whole.usage.prompt_tokens, cached: whole.usage.prompt_tokens_details?.cached_tokens ?? 0, text: whole.choices[0].message.content };
     };
     const bare = await engine.countTokens({ messages: [{ role: 'user', content: 'What is this?' }] });
     return { bare, all: [await ask({ type: 'image', image: picture }), await ask({ type: 'image_url', image_url: { url } }), await ask({ type: 'image_url', image_url: { url: new File([picture], 'x.png') } })] };`,
  );
  const [first, ...others] = answer.all;
  assert.equal(first.count, answer.bare + kPicture);
  assert.equal(first.used, first.count);
  for (const other of others) {
    assert.deepEqual([other.count, other.used, other.text], [first.count, first.used, first.text]);
    assert.ok(other.cached >= kPicture, `${other.cached} tokens were known`);
  }
});

test('a text goes on behind a picture that stands in it', async () => {
  const answer = await inPage(
    `const engine = await Puna.load('/llama.gguf', { device: 'cpu', mmproj: '/mmproj.gguf' });
     const complete = async (prompt) => {
       const whole = await engine.complete({ prompt, max_tokens: 8, temperature: 0, ignore_eos: true, return_tokens: true }).completion();
       return { used: whole.usage.prompt_tokens, cached: whole.usage.prompt_tokens_details?.cached_tokens ?? 0, text: whole.choices[0].text };
     };
     const media = [await blob('/photo.png')];
     const bare = await complete('Look: here');
     return { bare, seen: await complete({ prompt: 'Look:<__media__> here', media }), again: await complete({ prompt: 'Look:<__media__> here', media }) };`,
  );
  assert.ok(answer.seen.used >= kPicture + 2, `${answer.seen.used} tokens`);
  assert.notEqual(answer.seen.text, answer.bare.text);
  assert.equal(answer.again.text, answer.seen.text);
  assert.ok(answer.again.cached >= kPicture, `${answer.again.cached} tokens were known`);
});

test('what cannot be taken is refused with what is wrong, and the engine goes on', async () => {
  const { context, page } = await run.open();
  const failed = await outcome(page, `await Puna.load('/llama.gguf', { device: 'cpu', mmproj: '/narrow.gguf' })`);
  assert.match(failed.message, /24.*64|64.*24/);
  // What failed is not remembered.
  assert.equal(await outcome(page, `return (await Puna.load('/llama.gguf', { device: 'cpu' })).info.media`), null);
  assert.equal((await outcome(page, `await Puna.load('/llama.gguf', { device: 'cpu', mmproj: '/llama.gguf' })`)).code, 'unsupported');
  assert.equal((await outcome(page, `await Puna.load('/llama.gguf', { device: 'cpu', mmproj: '/photo.png' })`)).code, 'unsupported');
  const refusals = await outcome(
    page,
    `${help} const engine = await Puna.load('/llama.gguf', { device: 'cpu', context: 128, mmproj: '/mmproj.gguf' });
     const out = {};
     const say = async (name, ...parts) => {
       try { await engine.chat({ messages: [{ role: 'user', content: parts }], max_tokens: 1 }).completion(); out[name] = 'answered'; } catch (error) { out[name] = [error.code, error.message]; }
     };
     const picture = await blob('/photo.png');
     await say('sound', { type: 'audio', audio: await blob('/bytes.wav') });
     await say('address', { type: 'image_url', image_url: { url: 'https://example.org/cat.png' } });
     await say('broken', { type: 'image', image: picture.slice(0, 100) });
     await say('empty', { type: 'image', image: new Blob([]) });
     await say('many', ...Array.from({ length: 6 }, () => ({ type: 'image', image: picture })));
     await say('none', { type: 'image', image: 'cat.png' });
     await say('right', { type: 'image', image: picture });
     return out;`,
  );
  assert.equal(refusals.right, 'answered', JSON.stringify(refusals));
  assert.equal(refusals.sound[0], 'unsupported');
  assert.equal(refusals.address[0], 'unsupported');
  assert.match(refusals.many[1], /150.*128/);
  for (const name of ['broken', 'empty', 'none']) assert.notEqual(refusals[name], 'answered', name);
  const blind = await outcome(
    page,
    `${help} const engine = await Puna.load('/llama.gguf', { device: 'cpu', mmproj: null });
     await engine.chat({ messages: [{ role: 'user', content: [{ type: 'image', image: await blob('/photo.png') }] }] }).completion();`,
  );
  assert.equal(blind.code, 'unsupported');
  await context.close();
});

test('a model that was loaded with an encoder has it after a reload, and files are told apart by name', async () => {
  const { context, page } = await run.open();
  const sees = `return engine.info.media?.images ?? false;`;
  assert.equal(await outcome(page, `const engine = await Puna.load('/llama.gguf', { device: 'cpu', mmproj: '/mmproj.gguf' }); ${sees}`), true);
  await page.reload();
  await page.waitForFunction(() => globalThis.Puna);
  assert.equal(await outcome(page, `const engine = await Puna.load('/llama.gguf', { device: 'cpu' }); ${sees}`), true);
  const dropped = `${help} const files = [new File([await blob('/mmproj.gguf')], 'mmproj-tiny.gguf'), new File([await blob('/llama.gguf')], 'tiny.gguf')];`;
  assert.equal(await outcome(page, `${dropped} const engine = await Puna.load(files, { device: 'cpu' }); ${sees}`), true);
  await context.close();
});

// --- references of a folder

// Where the best of two tokens leads by less, in standard deviations of the logits, either may come.
const kSureMargin = 0.01;

const models = golden
  ? fs
      .readdirSync(golden)
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((file) => {
        const info = JSON.parse(fs.readFileSync(path.join(golden, file)));
        const name = file.slice(0, -5);
        const files = Object.entries(info.files).map(([media, one]) => ({ info, media, one, stem: `${name}.${path.parse(media).name}` }));
        return { name, info, files };
      })
  : [];

// What the encoder reads, of the preprocessed file.
function inputOf({ stem, info }) {
  const tiles = Object.values(readNpz(path.join(golden, `${stem}.pixels.npz`)));
  if (info.media === 'audio') return { values: Float32Array.from(tiles[0].values), shape: tiles[0].shape };
  const [mean, std] = ['mean', 'std'].map((key) => info.keys[`clip.vision.image_${key}`].map(Math.fround));
  const values = tiles.flatMap((tile) => Array.from(tile.values, (x, i) => Math.fround(Math.fround(Math.fround(x / 255) - mean[i % 3]) / std[i % 3])));
  return { values: Float32Array.from(values), shape: [tiles.length, ...tiles[0].shape] };
}

for (const device of process.env.PUNA_GOLDENS_GPU === 'all' ? ['cpu', 'gpu'] : ['cpu']) {
  for (const { name, info, files } of models) {
    // One load for all files of a model: on a software GPU it takes most of the time.
    test(`${name} on the ${device}`, async (t) => {
      const answers = await inPage(
        `const engine = await Puna.load('/golden/${name}.gguf', { device: '${device}', numerics: 'exact', kvType: 'f32', mmproj: '/golden/${name}-mmproj.gguf' ${info.max_tokens ? `, imageMaxTokens: ${info.max_tokens}` : ''} });
         const out = [];
         for (const { values, shape, media, tokens } of arg.files) {
           const file = await blob('/golden/inputs/' + media);
           out.push({
             given: toText(await engine.embedMedia({ values: toFloats(values), shape })),
             embed: toText(await engine.embedMedia(file)),
             logits: toText(await engine.logits({ prompt: arg.prompt, media: [file] })),
             type: engine.info.device.type,
             text: await goesOn(engine, { prompt: arg.prompt, media: [file] }, tokens),
           });
         }
         return out;`,
        {
          prompt: fs.readFileSync(path.join(golden, `${name}.txt`), 'utf8'),
          files: files.map((file) => {
            const { values, shape } = inputOf(file);
            return { values: base64(values), shape, media: file.media, tokens: file.one.greedy.length };
          }),
        },
      );
      const wrong = [];
      files.forEach(({ media, one, stem }, at) => {
        const answer = answers[at];
        assert.equal(answer.type, device);
        const near = (stage) => (one[`pixel_noise_nmse_${stage}`] ?? 0) * (media.endsWith('.jpg') ? 9 : 1);
        const embed = readNpy(path.join(golden, `${stem}.embed.npy`)).values;
        const all = floats(answer.logits);
        const vocab = all.length / one.tokens.length;
        const logits = Float32Array.from(one.positions.flatMap((place) => Array.from(all.subarray(place * vocab, (place + 1) * vocab))));
        const limit = { f32: 1e-5, f16: 2e-5 }[info.weights_mmproj];
        const said = [
          ['given', floats(answer.given), embed, limit],
          ['embed', floats(answer.embed), embed, Math.max(limit, near('embed'))],
          ['logits', logits, readNpy(path.join(golden, `${stem}.logits.npy`)).values, Math.max(1e-4, near('logits'))],
        ].map(([stage, got, want, most]) => {
          const error = nmse(got, want);
          if (!(error <= most)) wrong.push(`${stem}: ${stage}: NMSE ${error}, more than ${most}`);
          return `${stage} ${error.toExponential(1)}`;
        });
        const agree = answer.text.findIndex((id, i) => id !== one.greedy[i]);
        const same = agree < 0 ? answer.text.length : agree;
        if (one.greedy_margin > kSureMargin && (same < one.greedy.length || answer.text.length !== same)) wrong.push(`${stem}: ${same} tokens of ${one.greedy.length}`);
        t.diagnostic(`${stem}: NMSE ${said.join(', ')}; ${same} of ${one.greedy.length} tokens`);
      });
      assert.deepEqual(wrong, []);
    });
  }
}
