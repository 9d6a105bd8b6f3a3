// Arrays of numpy, as references are kept.
import fs from 'node:fs';
import zlib from 'node:zlib';

const types = { '<f4': Float32Array, '<f8': Float64Array, '<i4': Int32Array, '|u1': Uint8Array };

// Of the bytes of a .npy file of version 1, row after row.
export function parseNpy(bytes) {
  const headBytes = bytes.readUInt16LE(8);
  const head = bytes.toString('latin1', 10, 10 + headBytes);
  if (!head.includes("'fortran_order': False")) throw new Error(`columns stand one after the other: ${head}`);
  const Type = types[/'descr': '([^']+)'/.exec(head)[1]];
  const shape = [.../'shape': \(([^)]*)\)/.exec(head)[1].matchAll(/\d+/g)].map(Number);
  const begin = bytes.byteOffset + 10 + headBytes;
  return { shape, values: new Type(bytes.buffer.slice(begin, bytes.byteOffset + bytes.length)) };
}

export const readNpy = (file) => parseNpy(Buffer.from(fs.readFileSync(file)));

// The arrays of a .npz file, by name.
export function readNpz(file) {
  const bytes = fs.readFileSync(file);
  const out = {};
  let at = bytes.readUInt32LE(bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1') + 16);
  while (bytes.readUInt32LE(at) === 0x02014b50) {
    const [method, packed, nameBytes, extra, comment, local] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32), bytes.readUInt32LE(at + 42)];
    const name = bytes.toString('utf8', at + 46, at + 46 + nameBytes);
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(begin, begin + packed);
    out[name.replace(/\.npy$/, '')] = parseNpy(Buffer.from(method === 0 ? data : zlib.inflateRawSync(data)));
    at += 46 + nameBytes + extra + comment;
  }
  return out;
}

export function nmse(got, want) {
  if (got.length !== want.length) throw new Error(`${got.length} numbers, but ${want.length} are expected`);
  let error = 0;
  let power = 0;
  for (let i = 0; i < want.length; ++i) {
    error += (got[i] - want[i]) ** 2;
    power += want[i] ** 2;
  }
  return error / power;
}
