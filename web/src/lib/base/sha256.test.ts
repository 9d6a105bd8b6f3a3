import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Sha256, sha256OfBlob } from './sha256.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const expected = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('SHA-256', () => {
  it('gives the examples of FIPS 180-4', () => {
    expect(new Sha256().update(bytesOf('abc')).hex()).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    expect(new Sha256().hex()).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    const long = 'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq';
    expect(new Sha256().update(bytesOf(long)).hex()).toBe(
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    );
  });

  it('gives what another implementation gives, for every length around the blocks', () => {
    for (let length = 0; length <= 200; ++length) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 255);
      expect(new Sha256().update(bytes).hex()).toBe(expected(bytes));
    }
  });

  it('does not depend on where the bytes are cut', () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * i) & 255);
    for (const cut of [1, 7, 63, 64, 65, 127, 333]) {
      const hash = new Sha256();
      for (let at = 0; at < bytes.length; at += cut) hash.update(bytes.subarray(at, at + cut));
      expect(hash.hex()).toBe(expected(bytes));
    }
  });

  it('is the same of a blob with and without crypto.subtle', async () => {
    const blob = new Blob([bytesOf('a page over plain http')]);
    const hash = await sha256OfBlob(blob, undefined);
    expect(hash).toBe(expected(bytesOf('a page over plain http')));
    expect(await sha256OfBlob(blob)).toBe(hash);
  });
});
