// What the Hugging Face Hub knows of a file beforehand. Large files of its repositories are kept by Git LFS: at .../resolve/... lies the
// file, at .../raw/... the pointer that Git has in its place, with SHA-256 and size.
// Source: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md, "The Pointer".
import { normalizeDigest } from './digest.js';

export interface KnownFile {
  digest: string;
  size: number; // bytes
}

const kPointerVersion = 'version https://git-lfs.github.com/spec/v1';
const kPointerBytes = 1024; // a pointer is shorter
const kPatienceMs = 10_000;

// Null for other addresses, for files that are not kept so, and where the answer does not come: nothing is known then.
export async function knownOnHub(url: string, signal: AbortSignal, patienceMs = kPatienceMs): Promise<KnownFile | null> {
  const pointer = pointerAddress(url);
  if (!pointer || signal.aborted) return null;
  const asking = new AbortController();
  const stop = () => asking.abort();
  signal.addEventListener('abort', stop);
  const timer = setTimeout(stop, patienceMs);
  try {
    const answer = await fetch(pointer, { signal: asking.signal, cache: 'no-store' });
    return answer.ok ? parsePointer(await beginning(answer)) : null;
  } catch {
    return null; // the download itself says what is wrong
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

// At least kPointerBytes of an answer that has so many; what is left of it is not waited for.
async function beginning({ body }: Response): Promise<string> {
  const reader = body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < kPointerBytes) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text;
}

// Of .../<owner>/<repo>/resolve/<revision>/<file>, on the hub and on servers that keep its addresses.
export function pointerAddress(url: string): string | null {
  const address = new URL(url);
  const path = /^((?:\/[^/]+)*\/[^/]+\/[^/]+)\/resolve\/(.+\.(?:gguf|safetensors))$/i.exec(address.pathname);
  if (!path) return null;
  address.pathname = `${path[1]}/raw/${path[2]}`;
  return address.href;
}

export function parsePointer(text: string): KnownFile | null {
  if (text.length >= kPointerBytes) return null;
  const lines = text.split('\n');
  const value = (key: string) => lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? '';
  const digest = normalizeDigest(value('oid'));
  const size = Number(value('size') || Number.NaN);
  return lines[0] === kPointerVersion && digest && Number.isSafeInteger(size) && size >= 0 ? { digest, size } : null;
}
