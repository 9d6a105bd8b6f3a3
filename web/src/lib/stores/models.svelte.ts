// The models that there are, on the server and in this tab, and which of them is chosen.
import type { Fault } from '../types/conversation.ts';
import {
  EngineError,
  type ChatMessage,
  type ModelInfo,
  type RunsOn,
  type ServerState,
  type TabState,
} from '../types/engine.ts';
import type { Sense } from '../conversations/senses.ts';
import { engineOf, serverEngine, setApiKey, tabEngine } from '../services/engine.ts';
import { keepOffline } from '../services/offline.ts';
import { getValue, putValue } from '../storage/values.ts';
import type { Choice } from './answers/deps.ts';
import { median, rateKey, type Rates, withRate } from './rates.ts';
import { settings } from './settings.svelte.ts';

const CHOSEN = 'models.chosen';
const RATES = 'models.rates';

class Models {
  // The server's first.
  readonly list = $derived.by(() => [...this.#ofServer, ...this.#ofTab]);
  server = $state.raw<ServerState>(serverEngine.state);
  tab = $state.raw<TabState>(tabEngine.state);
  // Nothing has been heard of a server yet, not even that there is none.
  readonly awaited = $derived(!this.server.reachable && this.server.kind !== 'none' && !this.server.why);
  // What new chats are answered by: the reader's choice, else the first that is loaded or at least here. Undefined while the
  // server is awaited, whose models come first: a chat would be bound to one of this tab's.
  readonly chosen = $derived.by((): Choice | undefined => this.#choice ?? this.#first());
  // What last went wrong with a model, by rateKey().
  readonly troubles = $derived.by(() => this.#troubles);

  #ofServer = $state.raw<readonly ModelInfo[]>([]);
  #ofTab = $state.raw<readonly ModelInfo[]>([]);
  #choice = $state.raw<Choice | undefined>(undefined);
  // The reader's choice of another visit has been looked for.
  #recalled = $state(false);
  #rates = $state.raw<Rates>({});
  #troubles = $state.raw<Readonly<Record<string, Fault>>>({});
  #offline = false;
  readonly #underWay = new Map<string, AbortController>();

  // Begins to follow the server and this tab; gives the function that ends it.
  start(): () => void {
    void getValue<Choice>(CHOSEN)
      .then((choice) => (this.#choice ??= choice))
      .finally(() => (this.#recalled = true));
    void getValue<Rates>(RATES).then((rates) => (this.#rates = { ...rates, ...this.#rates }));
    const ends = [
      // A key that was typed or forgotten.
      $effect.root(() => {
        $effect(() => {
          if (setApiKey(settings.app.apiKey)) void serverEngine.models().catch(() => undefined);
        });
      }),
      this.#follow(),
    ];
    return () => ends.forEach((end) => end());
  }

  // Asks both again.
  async refresh(): Promise<void> {
    await Promise.allSettled([serverEngine.models(), tabEngine.models()]);
  }

  find(model: string, runsOn: RunsOn): ModelInfo | undefined {
    return this.list.find((each) => each.id === model && each.runsOn === runsOn);
  }

  // Those that have all of these senses.
  able(senses: readonly Sense[]): ModelInfo[] {
    return this.list.filter((each) => senses.every((sense) => each[sense]));
  }

  choose(model: string, runsOn: RunsOn): void {
    this.#choice = { model, runsOn };
    void putValue(CHOSEN, this.#choice);
  }

  // Tokens a second: the median of the last five answers of this model there; undefined before the first.
  rate(model: string, runsOn: RunsOn): number | undefined {
    return median(this.#rates[rateKey(model, runsOn)]);
  }

  // An answer has ended: what it measured.
  measured({ model, runsOn }: Choice, tokensPerSecond: number): void {
    this.#rates = withRate(this.#rates, rateKey(model, runsOn), tokensPerSecond);
    void putValue(RATES, this.#rates);
  }

  // These do not reject: what goes wrong stands in `troubles`, and a model's own state and `why` tell of it.
  load(model: string, runsOn: RunsOn): Promise<void> {
    return this.#do(model, runsOn, (signal) => engineOf(runsOn).load(model, signal));
  }
  unload(model: string, runsOn: RunsOn): Promise<void> {
    return this.#do(model, runsOn, () => engineOf(runsOn).unload(model));
  }
  // `address`: a name of a registry or catalogue, or hf:owner/repo/file.gguf. Gives the model's id.
  async download(address: string, runsOn: RunsOn): Promise<string> {
    const id = engineOf(runsOn).idOf(address);
    await this.#do(id, runsOn, (signal) => engineOf(runsOn).download(address, signal));
    return id;
  }
  remove(model: string, runsOn: RunsOn): Promise<void> {
    return this.#do(model, runsOn, () => engineOf(runsOn).remove(model));
  }
  // Ends a download or a load; what has come of a download is kept.
  cancel(model: string, runsOn: RunsOn): void {
    this.#underWay.get(rateKey(model, runsOn))?.abort();
    const state = this.find(model, runsOn)?.state;
    // One that somebody else has begun to load.
    if (state === 'loading') void this.unload(model, runsOn);
  }
  // Files of this device for this tab's engine; gives the model's id, or undefined where it cannot be loaded.
  async drop(files: File[], keep: boolean): Promise<string | undefined> {
    const name = files[0]?.name ?? '';
    let id: string | undefined;
    await this.#do(name, 'tab', async () => {
      id = await tabEngine.drop(files, keep);
    });
    return id;
  }

  // Tokens of the prompt that these messages make, for the gauge; undefined where nobody can tell.
  async count({ model, runsOn }: Choice, messages: ChatMessage[], signal?: AbortSignal): Promise<number | undefined> {
    try {
      // Counting is no reason to load a model.
      if (this.find(model, runsOn)?.state !== 'loaded') return undefined;
      return await engineOf(runsOn).count(model, messages, signal);
    } catch (error) {
      if (error instanceof EngineError || signal?.aborted) return undefined;
      throw error;
    }
  }

  // Forgets what went wrong, as when the reader has seen it.
  forgive(model: string, runsOn: RunsOn): void {
    const { [rateKey(model, runsOn)]: _, ...rest } = this.#troubles;
    this.#troubles = rest;
  }

  #follow(): () => void {
    const ends = [
      serverEngine.watch((models) => {
        this.#ofServer = models;
        this.server = serverEngine.state;
        this.#goOffline();
      }),
      tabEngine.watch((models) => {
        this.#ofTab = models;
        this.tab = tabEngine.state;
      }),
    ];
    return () => ends.forEach((end) => end());
  }

  // Once, when it is known what the page came from.
  #goOffline(): void {
    const { kind, reachable } = this.server;
    if (this.#offline || !(reachable || kind === 'none')) return;
    this.#offline = true;
    if (kind === 'none') tabEngine.serveV1();
    void keepOffline(kind === 'none');
  }

  #first(): Choice | undefined {
    if (this.awaited || !this.#recalled) return undefined;
    const usable = this.list.filter(({ state, here }) => here && state !== 'failed');
    const found =
      usable.find(({ state }) => state === 'loaded') ?? usable[0] ?? this.list.find(({ runsOn }) => runsOn === 'tab');
    return found && { model: found.id, runsOn: found.runsOn };
  }

  async #do(model: string, runsOn: RunsOn, act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const key = rateKey(model, runsOn);
    const underWay = new AbortController();
    this.#underWay.set(key, underWay);
    this.forgive(model, runsOn);
    try {
      await act(underWay.signal);
    } catch (error) {
      if (underWay.signal.aborted) return;
      const fault =
        error instanceof EngineError ? error.fault : { kind: 'engine' as const, message: (error as Error).message };
      this.#troubles = { ...this.#troubles, [key]: fault };
    } finally {
      if (this.#underWay.get(key) === underWay) this.#underWay.delete(key);
    }
  }
}

export const models = new Models();
