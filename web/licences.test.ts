import { expect, test } from 'vitest';
import { isKnown, nameOfText, packageOf } from './licences.ts';

test('licences are known by name, alternatives by one of them, and all of several', () => {
  for (const each of ['MIT', 'OFL-1.1', '(MIT OR GPL-3.0)', 'GPL-2.0 OR Apache-2.0', 'MIT AND ISC']) expect(isKnown(each), each).toBe(true);
  for (const each of ['', 'GPL-3.0', 'MIT AND GPL-3.0', 'UNLICENSED', 'SEE LICENSE IN x', 'MITX']) expect(isKnown(each), each).toBe(false);
});

test('the package of a file is the innermost one', () => {
  expect(packageOf('/a/node_modules/marked/lib/marked.js')).toBe('/a/node_modules/marked');
  expect(packageOf('/a/node_modules/@x/y/z.css?inline')).toBe('/a/node_modules/@x/y');
  expect(packageOf('/a/node_modules/b/node_modules/c/d.js')).toBe('/a/node_modules/b/node_modules/c');
  for (const own of ['/a/src/b.ts', 'node_modules.ts', '\0virtual:/node_modules/x/y']) expect(packageOf(own)).toBeUndefined();
});

test('a licence without a name is known by how its text begins', () => {
  expect(nameOfText('MIT License\n\nCopyright (c) 2024')).toBe('MIT');
  expect(nameOfText('# The ISC License\n')).toBe('ISC');
  for (const each of ['', 'Copyright (c) 2024', 'All rights reserved; this is not the MIT License']) expect(nameOfText(each)).toBeUndefined();
});
