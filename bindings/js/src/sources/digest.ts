// "sha256-<hex>" of any of the usual spellings (sha256:<hex>, <hex>, upper case), or null.
export function normalizeDigest(text: string): string | null {
  const match = /^(?:sha256[-:])?([0-9a-f]{64})$/i.exec(text.trim());
  return match ? `sha256-${match[1]!.toLowerCase()}` : null;
}
