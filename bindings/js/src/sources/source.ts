// What a model can be loaded from, as the caller gives it and as it crosses to the worker.
import { PunaError } from '../errors.js';
import { normalizeDigest } from './digest.js';

export interface UrlSource {
  url: string | URL; // of a GGUF file, or of a folder when it ends with "/"
  sha256?: string; // of the file, where it is known
  size?: number; // bytes
  name?: string;
}

// A name in the catalogue, name or id of a stored model, "hf:owner/repo/file.gguf", a URL, or files of this machine.
export type ModelSource =
  | string
  | URL
  | UrlSource
  | Blob
  | readonly File[]
  | FileList
  | FileSystemFileHandle
  | FileSystemDirectoryHandle;

export interface LocalFile {
  path: string;
  file: Blob;
}

// What crosses to the worker; `id` is the same for the same model in every tab.
export type SourceSpec =
  | { kind: 'name'; id: string; name: string }
  | { kind: 'url'; id: string; url: string; digest: string | null; size: number | null; name: string }
  | { kind: 'folder'; id: string; url: string; name: string }
  | { kind: 'files'; id: string; files: LocalFile[]; name: string };

// Files of a model with the one of its encoder among them, as repositories have them.
export function splitEncoder(source: ModelSource): { model: ModelSource; mmproj: ModelSource | undefined } {
  const isList = Array.isArray(source) || (globalThis.FileList !== undefined && source instanceof FileList);
  const files = isList ? [...(source as Iterable<File>)] : [];
  const mmproj = files.filter(({ name }) => /mmproj.*\.gguf$/i.test(name));
  if (mmproj.length !== 1 || files.length === 1) return { model: source, mmproj: undefined };
  return { model: files.filter((file) => file !== mmproj[0]), mmproj: mmproj[0] };
}

const kHub = 'https://huggingface.co';

export async function toSourceSpec(source: ModelSource, base: string): Promise<SourceSpec> {
  if (typeof source === 'string') return fromText(source, base);
  if (source instanceof URL) return fromUrl({ url: source }, base);
  if (source instanceof Blob) return fromFiles([{ path: nameOf(source), file: source }]);
  if (isFileHandle(source)) return fromFiles([{ path: source.name, file: await source.getFile() }]);
  if (isDirectoryHandle(source)) return fromFiles(await filesOf(source), source.name);
  if (Array.isArray(source) || (globalThis.FileList && source instanceof FileList)) return fromFileList([...(source as Iterable<File>)]);
  if (typeof source === 'object' && source !== null && 'url' in source) return fromUrl(source, base);
  throw new PunaError('invalid_argument', `A model cannot be loaded from ${describe(source)}; give a name, a URL, a File or files of a folder.`);
}

function fromText(text: string, base: string): SourceSpec {
  if (text.startsWith('hf:')) return fromUrl({ url: hubUrl(text) }, base);
  if (/^https?:\/\//i.test(text) || /^\.{0,2}\//.test(text)) return fromUrl({ url: text }, base);
  // A stored model has the name of its file, which may be anything but an address.
  if (text !== '' && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { kind: 'name', id: text, name: text };
  throw noSource(text);
}

export function noSource(text: string): PunaError {
  return new PunaError('invalid_argument', `"${text}" is neither a name in the catalogue or of a stored model, nor hf:owner/repo/file.gguf, nor a URL.`);
}

// hf:owner/repo[@revision]/file.gguf, or without a file: a folder.
function hubUrl(text: string): string {
  const match = /^hf:([\w.-]+)\/([\w.-]+)(?:@([\w.-]+))?(?:\/(.+))?$/.exec(text);
  if (!match) throw new PunaError('invalid_argument', `"${text}" does not follow hf:owner/repo/file.gguf or hf:owner/repo.`);
  const [, owner, repo, revision = 'main', file = ''] = match;
  return `${kHub}/${owner}/${repo}/resolve/${revision}/${file.split('/').map(encodeURIComponent).join('/')}`;
}

function fromUrl(source: UrlSource, base: string): SourceSpec {
  const url = parseUrl(String(source.url), base);
  const given = source.sha256 === undefined ? null : normalizeDigest(source.sha256);
  if (source.sha256 !== undefined && !given) {
    throw new PunaError('invalid_argument', `The SHA-256 "${source.sha256}" of ${url.href} does not consist of 64 hexadecimal digits.`);
  }
  const segments = url.pathname.split('/').map(decode);
  const last = segments.at(-1)!;
  if (last === '' || last === 'mlc-chat-config.json') {
    const folder = new URL('./', url).href;
    return { kind: 'folder', id: folder, url: folder, name: source.name ?? folderName(segments.slice(0, -1)) };
  }
  // The address of a blob tells its digest: /blobs/sha256-<hex> of a Puna server.
  const digest = given ?? (segments.at(-2) === 'blobs' ? normalizeDigest(last) : null);
  return { kind: 'url', id: digest ?? url.href, url: url.href, digest, size: source.size ?? null, name: source.name ?? last };
}

function parseUrl(text: string, base: string): URL {
  let url: URL;
  try {
    url = new URL(text, base);
  } catch {
    throw new PunaError('invalid_argument', `"${text}" is not a URL.`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new PunaError('invalid_argument', `A model can be loaded over http and https, not over "${url.protocol}" (${text}).`);
  }
  url.hash = '';
  return url;
}

// Hub addresses are .../<repo>/resolve/<revision>/.
function folderName(segments: string[]): string {
  const resolve = segments.lastIndexOf('resolve');
  return (resolve > 0 ? segments[resolve - 1] : segments.at(-1)) || 'model';
}

function fromFileList(files: File[]): SourceSpec {
  // "folder/config.json" of <input webkitdirectory> is "config.json" in the model.
  const paths = files.map((file) => file.webkitRelativePath || file.name);
  const folder = paths[0]?.includes('/') ? paths[0].split('/')[0]! : '';
  const inFolder = folder !== '' && paths.every((path) => path.startsWith(`${folder}/`));
  const local = files.map((file, i) => ({ path: inFolder ? paths[i]!.slice(folder.length + 1) : paths[i]!, file }));
  return fromFiles(local, inFolder ? folder : undefined);
}

function fromFiles(files: LocalFile[], folder?: string): SourceSpec {
  if (files.length === 0) throw new PunaError('invalid_argument', 'A model cannot be loaded from an empty list of files.');
  const ggufs = files.filter(({ path }) => path.toLowerCase().endsWith('.gguf'));
  // A folder of GGUF files is one model when it is one file, or the parts of one.
  const parts = ggufs.length === 0 || files.length === 1 ? files : ggufs;
  const splits = new Set(parts.map(({ path }) => path.replace(/-\d{5}-of-(\d{5}\.gguf)$/i, '-$1')));
  if (ggufs.length > 1 && splits.size > 1) {
    throw new PunaError('invalid_argument', `The files hold ${splits.size} models (${[...splits].join(', ')}); give those of one.`);
  }
  const name = folder ?? parts[0]!.path;
  const id = parts.map(({ path, file }) => `${path}:${file.size}:${file instanceof File ? file.lastModified : 0}`).join('|');
  return { kind: 'files', id, files: parts, name };
}

async function filesOf(folder: FileSystemDirectoryHandle, prefix = ''): Promise<LocalFile[]> {
  const files: LocalFile[] = [];
  for await (const [name, handle] of folder.entries()) {
    if (isFileHandle(handle)) files.push({ path: prefix + name, file: await handle.getFile() });
    else if (prefix === '' && isDirectoryHandle(handle)) files.push(...(await filesOf(handle, `${name}/`))); // 1_Pooling/config.json
  }
  return files;
}

const isFileHandle = (value: unknown): value is FileSystemFileHandle => (value as FileSystemHandle | null)?.kind === 'file';
const isDirectoryHandle = (value: unknown): value is FileSystemDirectoryHandle => (value as FileSystemHandle | null)?.kind === 'directory';

const nameOf = (blob: Blob): string => (globalThis.File && blob instanceof File ? blob.name : 'model.gguf');

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function describe(value: unknown): string {
  return value === null || typeof value !== 'object' ? String(value) : `an object of type ${value.constructor?.name ?? 'unknown'}`;
}
