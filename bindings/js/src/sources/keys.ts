// Names under which things are kept, made of texts of any length.

// The SHA-256 of a short text, in hexadecimal.
export async function textSha256(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// Of a download and of what is known of an address.
export const addressKey = async (url: string): Promise<string> => `url-${await textSha256(url)}`;

// What is known of an address whose file is stored.
export interface AddressRecord {
  digest: string;
}
