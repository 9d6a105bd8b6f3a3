// Base64 (RFC 4648, section 4) and data: addresses, in pieces so that a film is not one string of a string.

// Multiples of 4 characters and of 3 bytes.
const piece = 0x8000 * 12;

// Undefined when it is no base64. Line breaks and spaces are passed over.
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const packed = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  const out = new Uint8Array(Math.floor((packed.length * 3) / 4));
  let length = 0;
  try {
    for (let at = 0; at < packed.length; at += piece) {
      const part = packed.slice(at, at + piece);
      // Padding ends the text; atob would take it at the end of each piece.
      if (part.includes('=') && at + piece < packed.length) return undefined;
      const binary = atob(part);
      for (let i = 0; i < binary.length; ++i) out[length++] = binary.charCodeAt(i);
    }
  } catch {
    return undefined;
  }
  return out.slice(0, length);
}

export function base64OfBytes(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += piece) {
    let binary = '';
    // Arguments of a call lie on the stack: not too many at once.
    for (let i = at; i < Math.min(at + piece, bytes.length); i += 0x2000) {
      binary += String.fromCharCode(...bytes.subarray(i, Math.min(i + 0x2000, at + piece)));
    }
    parts.push(btoa(binary));
  }
  return parts.join('');
}

export async function base64OfBlob(blob: Blob): Promise<string> {
  return base64OfBytes(new Uint8Array(await blob.arrayBuffer()));
}

// Undefined when it is no data: address in base64.
export function blobOfDataUrl(url: string): Blob | undefined {
  const head = /^data:([^,]*?);base64,/i.exec(url.slice(0, 300));
  const bytes = head ? bytesOfBase64(url.slice(head[0].length)) : undefined;
  return head && bytes ? new Blob([bytes], { type: head[1]! }) : undefined;
}

export async function dataUrlOfBlob(blob: Blob): Promise<string> {
  return `data:${blob.type};base64,${await base64OfBlob(blob)}`;
}
