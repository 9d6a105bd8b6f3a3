// Conversations on a server with --web-store, over HTTP.
import { isDict, listOf, numberOf, textOf } from '../base/values.ts';
import { EngineError } from '../types/engine.ts';
import {
  WebStoreError,
  type WebChange,
  type WebRow,
  type WebRows,
  type WebStore,
  type WebStoreTrouble,
} from '../types/web_store.ts';
import { failure, send, type Ask, type ServerAddress } from './http/connection.ts';

// Behind so long without an answer the server counts as away; files may be large and the way slow.
const PATIENCE_MS = 60_000;
const FILE_PATIENCE_MS = 600_000;

const TROUBLES: Record<number, WebStoreTrouble> = { 404: 'none', 405: 'none', 413: 'large', 501: 'off' };

export class HttpWebStore implements WebStore {
  constructor(private readonly server: ServerAddress) {}

  async rows(after: number): Promise<WebRows> {
    const reply = await json(await this.#ok(`web-store?after=${after}`));
    const [store, revision] = [textOf(reply['store']), numberOf(reply['revision'])];
    if (store === undefined || revision === undefined) throw notOurs();
    return { store, revision, more: reply['more'] === true, changes: listOf(reply['changes']).map(rowOf) };
  }

  async change(changes: readonly WebChange[]): Promise<void> {
    await this.#ok('web-store', { method: 'POST', body: { changes } });
  }

  async hasFile(sha256: string): Promise<boolean> {
    const response = await this.#send(`web-store/files/${sha256}`, { method: 'HEAD' }, FILE_PATIENCE_MS);
    if (response.status === 404) return false;
    if (!response.ok) throw await errorOf(response);
    return true;
  }

  async file(sha256: string): Promise<Blob | undefined> {
    const response = await this.#send(`web-store/files/${sha256}`, {}, FILE_PATIENCE_MS);
    if (response.status === 404) return undefined;
    if (!response.ok) throw await errorOf(response);
    return await response.blob().catch(() => {
      throw new WebStoreError('away', 'The server went away in the middle of a file.');
    });
  }

  async keepFile(bytes: Blob): Promise<void> {
    const form = new FormData();
    form.append('file', bytes, 'file');
    await this.#ok('web-store/files', { method: 'POST', body: form }, FILE_PATIENCE_MS);
  }

  async #ok(path: string, ask: Ask = {}, patienceMs = PATIENCE_MS): Promise<Response> {
    const response = await this.#send(path, ask, patienceMs);
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  async #send(path: string, ask: Ask, patienceMs: number): Promise<Response> {
    try {
      return await send(this.server, path, { ...ask, signal: AbortSignal.timeout(patienceMs) });
    } catch (error) {
      throw new WebStoreError('away', error instanceof EngineError ? error.message : 'The server does not answer.');
    }
  }
}

async function errorOf(response: Response): Promise<WebStoreError> {
  const { fault } = await failure(response);
  if (fault.kind === 'key') return new WebStoreError('key', fault.message);
  if (fault.kind === 'network' || fault.kind === 'busy') return new WebStoreError('away', fault.message);
  const isOurs = response.status >= 500;
  return new WebStoreError(TROUBLES[response.status] ?? (isOurs ? 'failed' : 'refused'), fault.message);
}

const notOurs = () => new WebStoreError('none', 'What answers at this address keeps no conversations.');

async function json(response: Response): Promise<Record<string, unknown>> {
  try {
    const value: unknown = await response.json();
    if (isDict(value)) return value;
  } catch (error) {
    // A page in the place of JSON, as static hosts give for any address.
    if (!(error instanceof SyntaxError))
      throw new WebStoreError('away', 'The server went away in the middle of an answer.');
  }
  throw notOurs();
}

function rowOf(value: unknown): WebRow {
  if (isDict(value)) {
    const { table, id, removed, value: members, times } = value;
    if (typeof table === 'string' && typeof id === 'string') {
      if (typeof removed === 'number') return { table, id, removed };
      if (isDict(members) && isDict(times)) {
        const known = Object.entries(times).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
        return { table, id, value: members, times: Object.fromEntries(known) };
      }
    }
  }
  throw new WebStoreError('failed', 'The server gave a row that is none.');
}
