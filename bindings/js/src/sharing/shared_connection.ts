// One engine for all tabs of a site that ask for the same model with the same options. The tab that holds a Web Lock, the leader,
// runs it in its worker; the others talk to it over a BroadcastChannel. When the leader's tab goes, the next in the queue for the
// lock takes over, loads the model from storage, and what was being answered is repeated (../worker/replay.ts).
import { PunaError, throwIfAborted, toPunaError } from '../errors.js';
import type { Connection, EventOf, LoadParams, Method, Params, Result, TextMethod } from '../protocol.js';
import { type CallOptions, RpcClient } from '../rpc/client.js';
import type { Progress } from '../sources/progress.js';
import type { LoadedModel } from '../worker/engine_api.js';
import type { EngineState } from '../worker/recovering_engine.js';
import { ChatReplay, CompletionReplay, lostFor, seeded } from '../worker/replay.js';
import { type Leader, leadFor, tabLock } from './leader.js';
import { Channel } from './channel.js';

const kTakenOver = 'the tab that ran the engine was closed';

export class SharedConnection implements Connection {
  private readonly channel: Channel;
  private readonly closing = new AbortController();
  private leader: Leader | null = null; // while this tab leads
  private current: Promise<RpcClient>; // to the engine, wherever it runs
  private currentIs: string | null = null; // the tab of it
  private resolveCurrent!: (client: RpcClient) => void;
  private rejectCurrent!: (error: PunaError) => void;
  private client: RpcClient | null = null;
  private failed = false; // this tab led and could not load
  private info: LoadedModel | null = null;

  private constructor(
    private readonly name: string,
    private readonly startWorker: () => RpcClient,
    private readonly params: LoadParams,
    private readonly onProgress: (progress: Progress) => void,
  ) {
    this.channel = new Channel(name);
    this.current = this.renew();
  }

  // Resolves when the engine has loaded, here or in another tab.
  static async open(
    startWorker: () => RpcClient,
    params: LoadParams,
    onProgress: (progress: Progress) => void,
    signal?: AbortSignal,
  ): Promise<{ connection: SharedConnection; info: LoadedModel }> {
    if (!navigator.locks || typeof BroadcastChannel === 'undefined') {
      throw new PunaError('unsupported', 'This browser has no Web Locks or no BroadcastChannel, which sharing needs; load without share: true.');
    }
    throwIfAborted(signal);
    const connection = new SharedConnection(shareName(params), startWorker, params, onProgress);
    const stop = () => connection.close(new PunaError('aborted', 'The load was stopped by its signal.'));
    signal?.addEventListener('abort', stop);
    try {
      connection.join();
      await connection.current;
      return { connection, info: connection.info! };
    } catch (error) {
      connection.close();
      throw toPunaError(error);
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  async call<M extends Method>(method: M, params: Params<M>, options: CallOptions = {}): Promise<Result<M>> {
    for (let moved = false; ; moved = true) {
      const client = await this.current;
      if (moved && method === 'watch') options.onEvent?.({ state: 'recovered', reason: kTakenOver, info: this.info } satisfies EngineState);
      try {
        if (method === 'close') return undefined as Result<M>; // the engine is that of other tabs too
        return await client.call<Result<M>>(method, params, options);
      } catch (error) {
        if (!this.hasMoved(client, error) || options.signal?.aborted) throw error;
      }
    }
  }

  async *stream<M extends TextMethod>(method: M, params: Params<M>, options: { signal?: AbortSignal } = {}): AsyncGenerator<EventOf<M>, void, void> {
    const replay = method === 'chat' ? new ChatReplay() : new CompletionReplay();
    const request = seeded(params);
    for (;;) {
      const client = await this.current;
      try {
        for await (const chunk of client.stream<never>(method, request, options)) {
          const fresh = replay.pass(chunk);
          if (replay.diverged) throw lostFor(kTakenOver, 'the engine that took over gives another text');
          if (fresh) yield fresh as EventOf<M>;
        }
        return;
      } catch (error) {
        if (!this.hasMoved(client, error) || options.signal?.aborted) throw error;
        if (replay.finished) return;
        replay.repeat();
      }
    }
  }

  close(reason = new PunaError('closed', 'The engine was closed.')): void {
    if (this.closing.signal.aborted) return;
    this.closing.abort();
    this.rejectCurrent(reason);
    this.client?.close(reason);
    this.leader?.close();
    this.channel.close();
  }

  private hasMoved(client: RpcClient, error: unknown): boolean {
    return toPunaError(error).code === 'closed' && client !== this.client && !this.closing.signal.aborted;
  }

  private join(): void {
    this.channel.on('leading', (from, info) => this.follow(from, info as LoadedModel | null));
    this.channel.on('progress', (_, progress) => {
      if (!this.info) this.onProgress(progress as Progress);
    });
    // Held as long as this tab lives: the leader drops what was asked by a tab whose lock it can have.
    void navigator.locks.request(tabLock(this.channel.id), () => this.untilClosed());
    navigator.locks.request(this.name, { signal: this.closing.signal }, () => this.lead()).catch(() => undefined);
    this.channel.broadcast('who', null);
  }

  // Another tab leads; without `info` it has yet to load.
  private follow(from: string, info: LoadedModel | null): void {
    if (this.leader || this.closing.signal.aborted) return;
    if (this.currentIs !== from) {
      this.drop();
      this.currentIs = from;
    }
    if (!info || this.client) return;
    if (this.failed) this.current = this.renew();
    this.failed = false;
    this.info = info;
    this.client = new RpcClient(this.channel.toServer(from));
    this.resolveCurrent(this.client);
  }

  private async lead(): Promise<void> {
    if (this.closing.signal.aborted) return;
    this.drop();
    this.currentIs = this.channel.id;
    const client = this.startWorker();
    this.leader = leadFor(this.channel, client);
    try {
      this.info = await client.call<LoadedModel>('load', this.params, {
        signal: this.closing.signal,
        onEvent: (progress) => {
          if (!this.info) this.onProgress(progress as Progress);
          this.channel.broadcast('progress', progress);
        },
      });
    } catch (error) {
      this.leader.close();
      this.leader = null;
      this.failed = true;
      this.rejectCurrent(toPunaError(error));
      return; // the next tab may have more luck
    }
    this.client = client;
    this.leader.ready(this.info);
    this.resolveCurrent(client);
    await this.untilClosed();
  }

  // Whoever waits for an answer of the engine so far learns that it has gone.
  private drop(): void {
    if (!this.client) return;
    const { client } = this;
    this.client = null;
    this.current = this.renew();
    client.close(new PunaError('closed', `The call was cut: ${kTakenOver}.`));
  }

  private renew(): Promise<RpcClient> {
    const next = new Promise<RpcClient>((resolve, reject) => {
      this.resolveCurrent = resolve;
      this.rejectCurrent = reject;
    });
    next.catch(() => undefined); // those who wait for it hear of it
    return next;
  }

  private untilClosed(): Promise<void> {
    const { signal } = this.closing;
    return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));
  }
}

// The same for the same model and options; what is not set is another thing than null.
function shareName({ source, mmproj, options, storage }: LoadParams): string {
  const sorted = Object.fromEntries(Object.entries(options).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `puna-share:${JSON.stringify({ source: source.id, mmproj: mmproj && mmproj.id, options: sorted, storage })}`;
}
