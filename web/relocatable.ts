// The static site, for any folder of any host: SvelteKit names its files from the root of a host ("/_app/..."), this names them from
// where index.html lies ("./_app/..."), and renews what the policy in index.html says of the script that it changes.
import adapter from '@sveltejs/adapter-static';
import type { Adapter } from '@sveltejs/kit';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const fromRoot = '"/_app/';
const fromHere = '"./_app/';

function hashOf(script: string): string {
  return `sha256-${createHash('sha256').update(script).digest('base64')}`;
}

/** index.html with addresses relative to itself. Throws where its inline script is not one that its policy knows. */
export function relocated(html: string): string {
  const script = /<script>([^]*?)<\/script>/.exec(html)?.[1] ?? '';
  const known = hashOf(script);
  if (!html.includes(known)) throw new Error('The policy in index.html does not have the hash of the script in it.');
  const moved = html.replaceAll(fromRoot, fromHere).replaceAll(known, hashOf(script.replaceAll(fromRoot, fromHere)));
  if (moved.includes(fromRoot)) throw new Error(`index.html still has ${fromRoot}`);
  return moved;
}

/** As adapter-static does it, into `folder`; files are compressed after that. */
export function relocatable(folder: string): Adapter {
  const asItComes = adapter({ pages: folder, assets: folder, precompress: false });
  return {
    ...asItComes,
    async adapt(builder) {
      await asItComes.adapt(builder);
      const index = path.join(folder, 'index.html');
      fs.writeFileSync(index, relocated(fs.readFileSync(index, 'utf8')));
      await builder.compress(folder);
    },
  };
}
