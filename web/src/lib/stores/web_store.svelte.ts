// Conversations on the server for several devices (web_store/sync.ts has how): when that is done, and what became of
// it. The layout calls `webStore.start()` once.
import { newId } from '#lib/base/ids.ts';
import { signOf } from '#lib/attachments/kind.ts';
import { serverEngine } from '#lib/services/engine.ts';
import { openLeases, type Leases } from '#lib/services/lease.ts';
import { HttpWebStore } from '#lib/services/web_store.ts';
import { putHashed } from '#lib/storage/files.ts';
import { storage as theStorage, type Storage } from '#lib/storage/storage.ts';
import { WebStoreError, type WebStore, type WebStoreTrouble } from '#lib/types/web_store.ts';
import { settings } from './settings.svelte.ts';
import { Sync } from './web_store/sync.ts';

// Changes are told so long behind the last of them.
const restMs = 800;
// Others' are asked for so often while the page is seen.
const everyMs = 15_000;
// While the server is away, after each try.
const awayMs = [2_000, 5_000, 15_000, 30_000, 60_000];
const leaseName = 'puna-web-store';
// More than any revision: whether there is such a store, without its rows.
const noRows = Number.MAX_SAFE_INTEGER;

export class KeptOnServer {
  // Whether this server keeps conversations; undefined: it was not asked yet.
  offer = $state.raw<'yes' | WebStoreTrouble | undefined>(undefined);
  // When both had the same, ms since 1970.
  at = $state<number | undefined>(undefined);
  // Rows that the server has not been told of.
  waits = $state(0);
  trouble = $state.raw<WebStoreError | undefined>(undefined);
  busy = $state(false);

  readonly #sync: Sync;
  readonly #fetches = new Map<string, Promise<Blob | undefined>>();
  #leases: Leases | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #failures = 0;

  constructor(
    private readonly storage: Storage,
    private readonly server: WebStore,
    private readonly setting: { keepOnServer: boolean; wasKeptOnServer: boolean },
    private readonly leases: () => Leases,
  ) {
    this.#sync = new Sync(storage, server, () => this.on);
    storage.notesUnsent = () => this.on || this.setting.wasKeptOnServer;
    storage.elsewhere = (sha256) => (this.on ? this.#fetch(sha256) : Promise.resolve(undefined));
  }

  get on(): boolean {
    return this.setting.keepOnServer;
  }

  // Gives the function that ends it.
  start(): () => void {
    const end = new AbortController();
    const { signal } = end;
    const now = () => this.#soon(0);
    const seen = () => document.visibilityState === 'visible' && now();
    const every = setInterval(() => document.visibilityState === 'visible' && this.#failures === 0 && now(), everyMs);
    document.addEventListener('visibilitychange', seen, { signal });
    addEventListener('online', now, { signal });
    const unlisten = this.storage.listen((news) => {
      if ('changes' in news && news.changes.some((change) => change.table === 'unsent' && 'put' in change))
        this.#soon(restMs);
    });
    signal.addEventListener('abort', () => {
      clearInterval(every);
      clearTimeout(this.#timer);
      unlisten();
    });
    now();
    return () => end.abort();
  }

  // Asks the server whether it keeps conversations.
  async look(): Promise<void> {
    try {
      await this.server.rows(noRows);
      this.offer = 'yes';
    } catch (error) {
      this.offer = error instanceof WebStoreError ? error.trouble : 'failed';
    }
  }

  // Either way what is here stays here. What is changed while it is off is told when it is on again.
  async switch(on: boolean): Promise<void> {
    this.setting.wasKeptOnServer ||= on || this.on;
    this.setting.keepOnServer = false;
    await this.#running;
    this.#sync.retry();
    this.at = this.trouble = undefined;
    this.waits = this.#failures = 0;
    if (!on) return;
    this.setting.keepOnServer = true;
    await this.round();
  }

  // A round now, or behind the one under way. Does not reject: `trouble` says what went wrong.
  round(): Promise<void> {
    this.#again = true;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  #soon(ms: number): void {
    if (!this.on) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.round(), ms);
  }

  async #run(): Promise<void> {
    while (this.#again && this.on) {
      this.#again = false;
      this.#leases ??= this.leases();
      // Another tab is at it, and hears what is committed here.
      const lease = await this.#leases.tryTake(leaseName);
      if (!lease) return this.#soon(everyMs);
      this.busy = true;
      try {
        const { waits, refused } = await this.#sync.round();
        if (!this.on) return;
        [this.at, this.waits, this.trouble, this.#failures] = [Date.now(), waits, refused, 0];
      } catch (error) {
        this.trouble =
          error instanceof WebStoreError ? error : new WebStoreError('failed', String((error as Error).message));
        this.waits = await this.#sync.waits();
        this.#soon(awayMs[Math.min(this.#failures++, awayMs.length - 1)]!);
        return;
      } finally {
        this.busy = false;
        lease.release();
      }
    }
  }

  // Once for all who ask for it at the same time.
  #fetch(sha256: string): Promise<Blob | undefined> {
    const known = this.#fetches.get(sha256);
    if (known) return known;
    const fetched = this.#typed(sha256).finally(() => this.#fetches.delete(sha256));
    this.#fetches.set(sha256, fetched);
    return fetched;
  }

  // The server keeps bytes alone. Undefined where it has none, or is away.
  async #typed(sha256: string): Promise<Blob | undefined> {
    try {
      const bytes = await this.server.file(sha256);
      if (!bytes) return undefined;
      const head = new Uint8Array(await bytes.slice(0, 64).arrayBuffer());
      const typed = bytes.slice(0, bytes.size, signOf(head)?.type ?? '');
      await putHashed([[sha256, typed]], this.storage);
      return typed;
    } catch {
      return undefined;
    }
  }
}

export const webStore = new KeptOnServer(theStorage, new HttpWebStore(serverEngine.server), settings.app, () =>
  openLeases(newId()),
);
