// An encoder of tests/encoders for a text model that is wider than they are (24): LLaVA's, which sees, or Ultravox's, which hears. Neither
// has tokens around its rows, which get zeros behind them. No pair of tiny models is kept in the repository for it.
const kLast = ['mm.2.weight', 'mm.2.bias', 'mm.a.mlp.2.weight']; // what makes the rows
const kWidthKeys = ['clip.vision.projection_dim', 'clip.audio.projection_dim'];
// Of types of tensors: F32, F16.
/** @type {Record<number, number>} */
const kElementBytes = { 0: 4, 1: 2 };
// Bytes of GGUF's types of values, but for strings (8) and arrays (9).
/** @type {Record<number, number>} */
const kBytes = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

// `file`: tests/encoders/llava.gguf or ultravox.gguf. Gives the file with rows of `width` numbers.
/** @param {Buffer} file @param {number} width */
export function widerEncoder(file, width) {
  const out = Buffer.from(file);
  let at = 8;
  const long = () => ((at += 8), Number(out.readBigUInt64LE(at - 8)));
  const int = () => ((at += 4), out.readUInt32LE(at - 4));
  const text = () => {
    const length = long();
    return ((at += length), out.toString('utf8', at - length, at));
  };
  /** @type {(type: number) => void} */
  const skip = (type) => {
    if (type === 8) return void text();
    if (type !== 9) return void (at += kBytes[type] ?? 0);
    const inside = int();
    for (let n = long(); n > 0; --n) skip(inside);
  };
  const nTensors = long();
  let alignment = 32;
  for (let n = long(); n > 0; --n) {
    const [key, type] = [text(), int()];
    if (kWidthKeys.includes(key)) out.writeUInt32LE(width, at);
    if (key === 'general.alignment') alignment = out.readUInt32LE(at);
    skip(type);
  }
  const found = [];
  for (let i = 0; i < nTensors; ++i) {
    const name = text();
    const nDims = int();
    const dimsAt = at;
    at += 8 * nDims;
    const typeAt = at;
    at += 4;
    const offsetAt = at;
    at += 8;
    if (kLast.includes(name)) found.push({ dimsAt, nDims, typeAt, offsetAt });
  }
  const dataAt = Math.ceil(at / alignment) * alignment;
  const parts = [out];
  let end = out.length;
  for (const { dimsAt, nDims, typeAt, offsetAt } of found) {
    const rowsAt = dimsAt + 8 * (nDims - 1);
    const columns = nDims === 2 ? Number(out.readBigUInt64LE(dimsAt)) : 1;
    const rowBytes = columns * (kElementBytes[out.readUInt32LE(typeAt)] ?? 0);
    const from = dataAt + Number(out.readBigUInt64LE(offsetAt));
    const values = Buffer.alloc(rowBytes * width);
    out.copy(values, 0, from, from + rowBytes * Number(out.readBigUInt64LE(rowsAt)));
    const gap = (alignment - (end % alignment)) % alignment;
    out.writeBigUInt64LE(BigInt(width), rowsAt);
    out.writeBigUInt64LE(BigInt(end + gap - dataAt), offsetAt);
    parts.push(Buffer.alloc(gap), values);
    end += gap + values.length;
  }
  return Buffer.concat(parts);
}
