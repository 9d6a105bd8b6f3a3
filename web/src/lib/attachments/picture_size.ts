// How large a picture says it is, read from its header: what is too large is refused before anything decodes it.

export interface Size {
  width: number;
  height: number;
}

type Reader = (view: DataView) => Size | undefined;

const text = (view: DataView, at: number, length: number) =>
  String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at, length));

const readers: Record<string, Reader> = {
  'image/png': (view) => ({ width: view.getUint32(16), height: view.getUint32(20) }),
  'image/gif': (view) => ({ width: view.getUint16(6, true), height: view.getUint16(8, true) }),
  'image/bmp': bmp,
  'image/jpeg': jpeg,
  'image/webp': webp,
};

// Undefined where the header does not say it, or is of a kind that is not read here.
export function sizeOf(bytes: Uint8Array, type: string): Size | undefined {
  try {
    return readers[type]?.(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    if (error instanceof RangeError) return undefined; // it ends before
    throw error;
  }
}

function bmp(view: DataView): Size {
  // The oldest header has 16 bits for each; a negative height counts from the top.
  if (view.getUint32(14, true) === 12) return { width: view.getUint16(18, true), height: view.getUint16(20, true) };
  return { width: Math.abs(view.getInt32(18, true)), height: Math.abs(view.getInt32(22, true)) };
}

// The frame header (SOF0 to SOF15, but for the three of these markers that are tables) has both.
function jpeg(view: DataView): Size | undefined {
  const tables = [0xc4, 0xc8, 0xcc];
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) at += 1; // fill
    else if (marker === 0xda || marker === 0xd9) return undefined;
    else if (marker >= 0xc0 && marker <= 0xcf && !tables.includes(marker))
      return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    else at += 2 + view.getUint16(at + 2);
  }
}

function webp(view: DataView): Size | undefined {
  const three = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  switch (text(view, 12, 4)) {
    case 'VP8X':
      return { width: three(24) + 1, height: three(27) + 1 };
    case 'VP8 ':
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    case 'VP8L': {
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return undefined;
  }
}
