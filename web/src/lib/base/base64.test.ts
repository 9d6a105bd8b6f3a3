import { describe, expect, it } from 'vitest';
import { base64OfBytes, blobOfDataUrl, bytesOfBase64, dataUrlOfBlob } from './base64.ts';

describe('base64', () => {
  it('gives back what it was given, over several pieces too', () => {
    for (const length of [0, 1, 2, 3, 4, 1000, 393216, 393217, 1000003]) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + 7) & 255);
      const text = base64OfBytes(bytes);
      expect(text).toBe(Buffer.from(bytes).toString('base64'));
      expect(Buffer.from(bytesOfBase64(text)!).equals(Buffer.from(bytes))).toBe(true);
    }
  });

  it('passes over line breaks and refuses what is none', () => {
    expect([...bytesOfBase64('YW\nJj\r\n')!]).toEqual([97, 98, 99]);
    expect(bytesOfBase64('a*b=')).toBeUndefined();
    expect(bytesOfBase64('ü')).toBeUndefined();
  });

  it('reads data: addresses and no others', async () => {
    const blob = blobOfDataUrl('data:image/png;base64,YWJj')!;
    expect(blob.type).toBe('image/png');
    expect(await blob.text()).toBe('abc');
    expect(await dataUrlOfBlob(blob)).toBe('data:image/png;base64,YWJj');
    for (const bad of ['https://example.org/a.png', 'data:image/png,abc', 'data:image/png;base64,*', '']) {
      expect(blobOfDataUrl(bad)).toBeUndefined();
    }
  });
});
