import { expect, test } from 'vitest';
import { sizeOf } from './picture_size.ts';

const latin = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const cases: Record<string, [string, Uint8Array]> = {
  png: ['image/png', latin('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\x86\xa0\0\0\x02\x01')],
  gif: ['image/gif', latin('GIF89a\x40\x01\xf0\0')],
  'bmp, top down': ['image/bmp', latin(`BM${'\0'.repeat(12)}\x28\0\0\0\x40\x01\0\0\x10\xff\xff\xff`)],
  'jpeg behind a table': ['image/jpeg', latin('\xff\xd8\xff\xc4\0\x04\0\0\xff\xff\xc2\0\x0b\x08\0\xf0\x01\x40')],
  'webp, lossy': ['image/webp', latin(`RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\x01\xf0\0`)],
  'webp, lossless': ['image/webp', latin(`RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x3f\xc1\x3b\0`)],
  'webp, extended': ['image/webp', latin(`RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x3f\x01\0\xef\0\0`)],
};
const sizes: Record<string, { width: number; height: number }> = { png: { width: 100_000, height: 513 } };

test.each(Object.entries(cases))('%s', (name, [type, bytes]) => {
  expect(sizeOf(bytes, type)).toEqual(sizes[name] ?? { width: 320, height: 240 });
  // Cut anywhere, it says nothing or the same.
  for (let n = 0; n < bytes.length; n++) {
    const cut = sizeOf(bytes.subarray(0, n), type);
    if (cut) expect(cut).toEqual(sizes[name] ?? { width: 320, height: 240 });
  }
});

test('what says no size has none', () => {
  expect(sizeOf(latin('\xff\xd8\xff\xd9'), 'image/jpeg')).toBeUndefined();
  expect(sizeOf(latin('%PDF-1.7'), 'application/pdf')).toBeUndefined();
});
