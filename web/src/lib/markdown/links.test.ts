import { expect, test } from 'vitest';
import { namesHost, target } from './links.ts';

test.each([
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'java\nscript:alert(1)',
  ' \u0001javascript:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'file:///etc/passwd',
  'blob:https://a/b',
  '//evil.example',
  '/relative',
  '#hash',
  'https://',
  'x',
])('%j leads nowhere', (href) => expect(target(href)).toBeUndefined());

test('a link shows where it really leads', () => {
  expect(target('https://bank.example@evil.example/x')).toEqual({ href: 'https://evil.example/x', host: 'evil.example' });
  expect(target('mailto:a@b.example')).toEqual({ href: 'mailto:a@b.example', host: 'a@b.example' });
  expect(target('https://аpple.example')?.host).toBe('xn--pple-43d.example');
});

test.each([
  ['see www.a.example', 'www.a.example', true],
  ['A.EXAMPLE.', 'www.a.example', true],
  ['(https://www.a.example/path?x)', 'a.example', true],
  ['**`a.example`**', 'a.example', true],
  ['a.example:8080/x', 'a.example:8080', true],
  ['write to Me@a.example!', 'me@a.example', true],
  ['http://[::1]:80/x', '[::1]:80', true],
  // Parts of other hosts, and addresses elsewhere.
  ['https://www.google.example/login', 'e.example', false],
  ['My bank: bank.example', 'k.example', false],
  ['a.example.evil.example', 'a.example', false],
  ['https://bank.example/a.example', 'a.example', false],
  ['https://a.example@bank.example', 'a.example', false],
  ['https://bank.example?a.example', 'a.example', false],
  ['bank.example', 'evil.example', false],
  ['', 'a.example', false],
])('that %j names %s: %s', (text, host, names) => expect(namesHost(text, host)).toBe(names));
