// SHA-256 (FIPS 180-4). crypto.subtle is not there over plain http and takes no streams, so the function itself is here
// too.
import { hexOf } from './ids.ts';

const blockBytes = 64;
// Up to here a blob is given to crypto.subtle in one piece.
const onePieceBytes = 32 << 20;
const sliceBytes = 4 << 20;

// The first 32 bits of the fractional parts of the cube roots (roundConstants) and the square roots (start) of the
// first primes.
const primes: number[] = [];
for (let n = 2; primes.length < 64; ++n) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
const fraction = (x: number) => Math.floor((x - Math.floor(x)) * 2 ** 32) >>> 0;
const roundConstants = Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const start = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

const rotated = (x: number, bits: number) => (x >>> bits) | (x << (32 - bits));

export class Sha256 {
  #state = Uint32Array.from(start);
  #schedule = new Uint32Array(64);
  #rest = new Uint8Array(blockBytes);
  #restBytes = 0;
  #bytes = 0;

  update(bytes: Uint8Array): this {
    this.#bytes += bytes.length;
    let at = 0;
    if (this.#restBytes > 0) {
      at = Math.min(blockBytes - this.#restBytes, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#restBytes);
      this.#restBytes += at;
      if (this.#restBytes < blockBytes) return this;
      this.#block(this.#rest, 0);
      this.#restBytes = 0;
    }
    for (; at + blockBytes <= bytes.length; at += blockBytes) this.#block(bytes, at);
    this.#rest.set(bytes.subarray(at));
    this.#restBytes = bytes.length - at;
    return this;
  }

  // The end: in lower-case hex. Nothing can be added after it.
  hex(): string {
    const bits = this.#bytes * 8;
    const padding = new Uint8Array((this.#restBytes < 56 ? 56 : 120) - this.#restBytes + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    const out = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, i) => out.setUint32(4 * i, word));
    return hexOf(new Uint8Array(out.buffer));
  }

  #block(bytes: Uint8Array, at: number): void {
    const w = this.#schedule;
    for (let i = 0; i < 16; ++i, at += 4) {
      w[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    }
    for (let i = 16; i < 64; ++i) {
      const x = w[i - 15]!;
      const y = w[i - 2]!;
      const low = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
      const high = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
      w[i] = w[i - 16]! + low + w[i - 7]! + high;
    }
    const s = this.#state;
    let a = s[0]!;
    let b = s[1]!;
    let c = s[2]!;
    let d = s[3]!;
    let e = s[4]!;
    let f = s[5]!;
    let g = s[6]!;
    let h = s[7]!;
    for (let i = 0; i < 64; ++i) {
      const choice = (e & f) ^ (~e & g);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + roundConstants[i]! + w[i]!) | 0;
      const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    s[0]! += a;
    s[1]! += b;
    s[2]! += c;
    s[3]! += d;
    s[4]! += e;
    s[5]! += f;
    s[6]! += g;
    s[7]! += h;
  }
}

export async function sha256OfBlob(blob: Blob, subtle: SubtleCrypto | undefined = crypto.subtle): Promise<string> {
  if (subtle && blob.size <= onePieceBytes) {
    return hexOf(new Uint8Array(await subtle.digest('SHA-256', await blob.arrayBuffer())));
  }
  const hash = new Sha256();
  for (let at = 0; at < blob.size; at += sliceBytes) {
    hash.update(new Uint8Array(await blob.slice(at, at + sliceBytes).arrayBuffer()));
  }
  return hash.hex();
}
