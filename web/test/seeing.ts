// A tiny model that sees: one of tests/goldens with an encoder made as wide as it. A picture is 25 tokens.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { widerEncoder } from '../../bindings/js/test/support/wider_encoder.mjs';
import { withTemplate } from '../../bindings/js/test/support/with_template.mjs';
import { site, type Site } from './browser.ts';

const tests = '../tests';
export const seeingModel = (): Buffer => withTemplate(readFileSync(`${tests}/goldens/llama-q4_0.gguf`));
export const seeingEncoder = (): Buffer => widerEncoder(readFileSync(`${tests}/encoders/llava.gguf`), 64);

export async function seeingSite(puna: string, build: string): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'puna-seeing-'));
  const [model, mmproj] = [join(folder, 'seeing.gguf'), join(folder, 'mmproj.gguf')];
  writeFileSync(model, seeingModel());
  writeFileSync(mmproj, seeingEncoder());
  const more = ['--mmproj', mmproj, '--device', 'cpu', '--temp', '0', '--ctx-size', '1024', '--predict', '24'];
  const at = await site(puna, ['--model', model, ...more], build, { PUNA_HOME: folder });
  return { ...at, end: () => (at.end(), rmSync(folder, { recursive: true, force: true })) };
}
