// Which files a model folder on a server has: MLC's (mlc-chat-config.json) or Hugging Face's (config.json with safetensors).
import { PunaError } from '../errors.js';
import type { RemoteFile } from './remote_file.js';

// Gives the text of a file of the folder; null where there is none.
export type ReadText = (path: string) => Promise<string | null>;

// The files beside the configuration, those that exist of which are wanted.
const kTokenizerFiles = ['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'generation_config.json', 'chat_template.jinja'];
const kIndexFiles = ['tensor-cache.json', 'ndarray-cache.json'];

// The weight files; the texts were all read through `read`, which keeps them.
export async function weightFiles(url: string, read: ReadText): Promise<RemoteFile[]> {
  const mlc = (await read('mlc-chat-config.json')) !== null;
  if (!mlc && (await read('config.json')) === null) {
    throw new PunaError('not_found', `The folder ${url} has neither mlc-chat-config.json (MLC) nor config.json (Hugging Face); give the address of a model folder or of a GGUF file.`);
  }
  for (const name of kTokenizerFiles) await read(name);
  return mlc ? mlcShards(url, read) : safetensors(url, read);
}

async function mlcShards(url: string, read: ReadText): Promise<RemoteFile[]> {
  for (const name of kIndexFiles) {
    const text = await read(name);
    if (text === null) continue;
    const { records } = parse(text, url + name) as { records?: unknown };
    if (!Array.isArray(records)) throw new PunaError('corrupt', `${url}${name} has no list "records".`);
    return records.map(({ dataPath, nbytes }: { dataPath?: unknown; nbytes?: unknown }) => {
      if (typeof dataPath !== 'string' || typeof nbytes !== 'number') {
        throw new PunaError('corrupt', `${url}${name} has a record without "dataPath" and "nbytes".`);
      }
      return inFolder(url, dataPath, nbytes);
    });
  }
  throw new PunaError('not_found', `The folder ${url} has neither tensor-cache.json nor ndarray-cache.json, which say where the weights are.`);
}

async function safetensors(url: string, read: ReadText): Promise<RemoteFile[]> {
  const name = 'model.safetensors.index.json';
  const text = await read(name);
  if (text === null) return [inFolder(url, 'model.safetensors', null)];
  const { weight_map: map } = parse(text, url + name) as { weight_map?: unknown };
  if (typeof map !== 'object' || map === null) throw new PunaError('corrupt', `${url}${name} has no object "weight_map".`);
  return [...new Set(Object.values(map).map(String))].sort().map((path) => inFolder(url, path, null));
}

function inFolder(url: string, path: string, size: number | null): RemoteFile {
  const address = new URL(path, url).href;
  if (!address.startsWith(url)) throw new PunaError('corrupt', `The index of ${url} names "${path}", which lies outside the folder.`);
  return { path, url: address, digest: null, size };
}

function parse(text: string, address: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // said below
  }
  throw new PunaError('corrupt', `${address} is not a JSON object.`);
}
