// A tiny model that sees, or hears: one of tests/goldens with an encoder made as wide as it. A picture is 25 tokens.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { widerEncoder } from '../../bindings/js/test/support/wider_encoder.mjs';
import { withTemplate } from '../../bindings/js/test/support/with_template.mjs';
import { site, type Site } from './browser.ts';

const tests = '../tests';
export const seeingModel = (): Buffer => withTemplate(readFileSync(`${tests}/goldens/llama-q4_0.gguf`));
export const seeingEncoder = (): Buffer => widerEncoder(readFileSync(`${tests}/encoders/llava.gguf`), 64);
const hearingEncoder = (): Buffer => widerEncoder(readFileSync(`${tests}/encoders/ultravox.gguf`), 64);

async function withEncoder(encoder: Buffer, puna: string, build: string): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'puna-media-'));
  const [model, mmproj] = [join(folder, 'tiny.gguf'), join(folder, 'mmproj.gguf')];
  writeFileSync(model, seeingModel());
  writeFileSync(mmproj, encoder);
  const more = ['--mmproj', mmproj, '--device', 'cpu', '--temp', '0', '--ctx-size', '1024', '--predict', '24'];
  const at = await site(puna, ['--model', model, ...more], build, { PUNA_HOME: folder });
  return { ...at, end: () => (at.end(), rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })) };
}

export const seeingSite = (puna: string, build: string): Promise<Site> => withEncoder(seeingEncoder(), puna, build);
export const hearingSite = (puna: string, build: string): Promise<Site> => withEncoder(hearingEncoder(), puna, build);
