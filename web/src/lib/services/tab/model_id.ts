// By which name this tab knows a model that lies at an address: the same for all ways to write the address, another for
// each address.

export const isAddress = (text: string) => /^https?:/i.test(text);

// https://huggingface.co/owner/repo/resolve/main/m.gguf -> hf:owner/repo/m.gguf, which is loaded from the same place.
const hub = /^https:\/\/huggingface\.co\/([\w.-]+)\/([\w.-]+)\/resolve\/([\w.-]+)\/(.*)$/;

// Of a name in the catalogue: that name.
export function modelId(address: string): string {
  if (!isAddress(address)) return address.replace(/^(hf:[\w.-]+\/[\w.-]+)@main(?=\/|$)/, '$1');
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  url.hash = '';
  const [, owner, repo, revision, path = ''] = hub.exec(url.href) ?? [];
  const file = path.split('/').map(decoded);
  // Other spellings of the same file are other addresses to the browser's storage.
  if (owner === undefined || file.map(encodeURIComponent).join('/') !== path) return url.href;
  return `hf:${owner}/${repo}${revision === 'main' ? '' : `@${revision}`}${path && `/${file.join('/')}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
