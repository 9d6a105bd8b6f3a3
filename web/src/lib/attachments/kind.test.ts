import { expect, test } from 'vitest';
import { kindOf, textOf } from './kind.ts';

const bytes = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));

test.each([
  ['%PDF-1.7', 'pdf'],
  ['\x89PNG\r\n\x1a\n', 'image'],
  ['\xff\xd8\xff\xe0', 'image'],
  ['RIFF\x24\0\0\0WEBP', 'image'],
  ['RIFF\0\0\0\0WAVE', 'audio'],
  ['fLaC', 'audio'],
  ['GIF89a', 'image'],
  ['BM\x46\0\0\0\0\0\0\0\x36\0\0\0', 'image'],
  ['ID3\x03\0', 'audio'],
  ['plain text', 'text'],
  ['BMW, GIF8 and ID3 are names', 'text'],
  ['ID3 is a name', 'text'],
])('%j is %s', (head, kind) => expect(kindOf(bytes(head))?.kind).toBe(kind));

test('what is neither is nothing', () => {
  expect(kindOf(bytes('\x7fELF\0\0'))).toBeUndefined();
  expect(kindOf(bytes('\xc3\x28'))).toBeUndefined();
  expect(textOf(Uint8Array.of(0xff, 0xfe, 0x41, 0, 0xe4, 0))).toBe('Aä');
});
