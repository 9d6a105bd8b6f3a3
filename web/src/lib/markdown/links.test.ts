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
  expect(namesHost('see www.a.example', 'www.a.example')).toBe(true);
  expect(namesHost('bank.example', 'evil.example')).toBe(false);
});
