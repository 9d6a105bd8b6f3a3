import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { relocated } from './relocatable.ts';

const hashOf = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`;
const page = (script: string, hash = hashOf(script)) =>
  `<meta http-equiv="content-security-policy" content="script-src 'self' '${hash}'"><link href="/_app/a.js"><img src="./b.svg"><script>${script}</script>`;

test('addresses are from where index.html lies, and the policy knows the script as it is then', () => {
  expect(relocated(page('import("/_app/start.js")\n'))).toBe(page('import("./_app/start.js")\n').replace('"/_app/a.js"', '"./_app/a.js"'));
});

test('what is relative already stays', () => {
  const done = relocated(page('import("/_app/start.js")'));
  expect(relocated(done)).toBe(done);
});

test('a script that the policy does not know is an error', () => {
  expect(() => relocated(page('import("/_app/start.js")', hashOf('another')))).toThrow('hash');
  expect(() => relocated('<p>no script</p>')).toThrow('hash');
});
