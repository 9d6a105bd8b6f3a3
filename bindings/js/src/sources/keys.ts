// Names under which things are kept, made of texts of any length.

// The SHA-256 of some bytes that are there at once, in hexadecimal.
export async function bytesSha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
export const textSha256 = (text: string): Promise<string> => bytesSha256(new TextEncoder().encode(text));

// Of a download and of what is known of an address.
export const addressKey = async (url: string): Promise<string> => `url-${await textSha256(url)}`;

// What is known of an address whose file is stored.
export interface AddressRecord {
  digest: string;
}

// Of a model whose files are known: that of its only file, or one made of all of them.
export async function modelDigest(files: readonly { path: string; digest: string }[]): Promise<string> {
  if (files.length === 1) return files[0]!.digest;
  const lines = files.map(({ path, digest }) => `${digest} ${path}`).sort();
  return `sha256-${await textSha256(lines.join('\n'))}`;
}
