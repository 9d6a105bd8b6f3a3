// All answers under way in this tab, and those that other tabs write. answers.svelte.ts has the one instance.
import { SvelteMap } from 'svelte/reactivity';
import type { Fault, Id, Message } from '../../types/conversation.ts';
import type { RunsOn } from '../../types/engine.ts';
import type { Lease } from '../../services/lease.ts';
import type { AnswerNews } from './channel.ts';
import type { Deps, Open } from './deps.ts';
import type { Patch } from '../../storage/tables.ts';
import { Elsewhere, Live, type LiveAnswer } from './live.svelte.ts';
import { MAX_ROUNDS, resultsOf, rounds, runCalls } from './tool_round.ts';
import { leaseName, Stopped, write } from './writing.ts';

export interface StartOptions {
  // The id of an answer that is to be continued: its text goes on in the same message.
  continues?: Id;
  // Other than the conversation's.
  model?: string;
  runsOn?: RunsOn;
}

// An answer that was begun so long ago and of which nothing has come is not asked for again by itself.
const STALE_MS = 10 * 60_000;
// How long the tab that writes an answer has to stop it.
const STOP_MS = 3_000;

interface Driven {
  stop: AbortController;
  convId: Id;
}

export class Answers {
  readonly #live = new SvelteMap<Id, LiveAnswer>();
  readonly #driven = new Map<Id, Driven>();
  readonly #awaited = new Map<Id, AbortController>();

  constructor(private readonly deps: Deps) {}

  live(messageId: Id): LiveAnswer | undefined {
    return this.#live.get(messageId);
  }

  // Of a conversation: the answers that are being written in it.
  liveIn(convId: Id): LiveAnswer[] {
    return [...this.#live.values()].filter((live) => live.convId === convId);
  }

  // Ids of the conversations in which something is written.
  get busy(): ReadonlySet<Id> {
    return new Set([...this.#live.values()].map(({ convId }) => convId));
  }

  // Begins the answer to the message `parent`; gives the id of the new message (or of the continued one), which then
  // stands in the conversation. What goes wrong with the answer stands in the message: status `failed` or `cut`, and
  // `error`.
  async start(open: Pick<Open, 'conversation'>, parent: Id, options: StartOptions = {}): Promise<Id> {
    const own = await this.deps.open(open.conversation.id);
    try {
      return await (options.continues === undefined
        ? this.#begin(own, parent, options)
        : this.#continue(own, options.continues, options));
    } catch (error) {
      own.close();
      throw error;
    }
  }

  // Makes the calls of an answer that have no results yet, as after a reload, and has the model go on.
  async goOn(open: Pick<Open, 'conversation'>, messageId: Id, options: StartOptions = {}): Promise<void> {
    if (this.#driven.has(messageId)) return;
    const own = await this.deps.open(open.conversation.id);
    const message = own.messages.get(messageId);
    const lease = message?.toolCalls?.length ? await this.deps.leases.tryTake(leaseName(messageId)) : null;
    if (!message || !lease) return own.close();
    const live = new Live(messageId, message.convId, 'tool', this.deps.frame);
    this.#run(own, live, lease, (signal) => this.#callTools(own, live, message, options, signal));
  }

  async stop(messageId: Id): Promise<void> {
    const driven = this.#driven.get(messageId);
    if (driven) return driven.stop.abort(new Stopped());
    const live = this.#live.get(messageId);
    if (live) await this.#stopElsewhere(live);
  }

  // All that are written in a conversation.
  async stopIn(convId: Id): Promise<void> {
    await Promise.all(this.liveIn(convId).map(({ messageId }) => this.stop(messageId)));
  }

  // Takes up what was being written when a page went away.
  async resumeAll(): Promise<void> {
    const writing = await this.deps.writing();
    await Promise.all(writing.map(({ convId, messageId }) => this.#resume(convId, messageId)));
  }

  // Listens to other tabs; gives the function that ends it.
  listen(): () => void {
    return this.deps.channel.hear((news) => this.#hear(news));
  }

  #hear({ type, messageId, convId }: AnswerNews): void {
    if (type === 'stop') this.#driven.get(messageId)?.stop.abort(new Stopped());
    else if (!this.#driven.has(messageId)) void this.#await(convId, messageId);
  }

  async #begin(open: Open, parent: Id, options: StartOptions): Promise<Id> {
    const setup = this.deps.setup(open.conversation, options);
    const id = this.deps.newId();
    const lease = this.deps.leases.hold(leaseName(id));
    const message: Parameters<Open['add']>[0] = {
      id,
      parent,
      role: 'assistant',
      content: '',
      status: 'writing',
      files: [],
    };
    if (setup.choice) message.model = setup.choice.model;
    if (setup.choice?.runsOn === 'server') Object.assign(message, { streamId: id, offset: 0 });
    try {
      await open.add(message);
    } catch (error) {
      lease.release();
      throw error;
    }
    this.#drive(open, id, lease, options, 'begin', false);
    return id;
  }

  async #continue(open: Open, id: Id, options: StartOptions): Promise<Id> {
    const message = open.messages.get(id);
    if (!message || message.role !== 'assistant') throw new Error('There is no such answer to be continued.');
    if (this.#live.has(id)) throw new Error('This answer is being written.');
    const lease = await this.deps.leases.tryTake(leaseName(id));
    if (!lease) throw new Error('Another tab writes this answer.');
    const resumes = await this.#isKept(message);
    const { choice } = this.deps.setup(open.conversation, this.#sameModel(message, options));
    // Its times are told anew with its end.
    const patch: Patch<Message> = { status: 'writing', error: undefined, timings: undefined };
    // A stream of its own: the one before may still be kept under its name.
    const streamId = choice?.runsOn === 'server' ? `${id}-${this.deps.newId().slice(0, 8)}` : undefined;
    if (!resumes) Object.assign(patch, { streamId, offset: streamId && 0, ...this.#onlyMade(open, message) });
    try {
      await open.change(id, patch);
    } catch (error) {
      lease.release();
      throw error;
    }
    const same = this.#sameModel(message, options);
    this.#drive(open, id, lease, resumes ? { ...same, runsOn: 'server' } : same, resumes ? 'resume' : 'begin', true);
    return id;
  }

  // The model of another stream knows nothing of calls that were not made, the last of which may have come in part.
  #onlyMade(open: Open, message: Message): Pick<Patch<Message>, 'toolCalls'> {
    const made = message.toolCalls?.slice(0, resultsOf(open, message).length);
    return { toolCalls: made?.length ? made : undefined };
  }

  // Whether the server still has what came behind the part that is here.
  async #isKept({ streamId, status, error }: Message): Promise<boolean> {
    if (streamId === undefined || status !== 'cut' || error === undefined) return false;
    try {
      return (await this.deps.engine('server').kept([streamId])).has(streamId);
    } catch {
      return false;
    }
  }

  // An answer is continued by the model that began it, unless another is asked for.
  #sameModel(message: Message, options: StartOptions): StartOptions {
    return message.model !== undefined && options.model === undefined ? { ...options, model: message.model } : options;
  }

  async #resume(convId: Id, messageId: Id): Promise<void> {
    if (this.#driven.has(messageId) || this.#awaited.has(messageId)) return;
    const lease = await this.deps.leases.tryTake(leaseName(messageId));
    if (!lease) return this.#await(convId, messageId);
    await this.#takeUp(convId, messageId, lease);
  }

  async #takeUp(convId: Id, messageId: Id, lease: Lease): Promise<void> {
    const open = await this.deps.open(convId).catch(() => null);
    const message = open?.messages.get(messageId);
    // What is stored is the truth: the news of the answer's end may come behind the lease.
    const status = (await this.deps.stored(messageId))?.status;
    if (!open || message === undefined || status !== 'writing' || this.#driven.has(messageId)) {
      lease.release();
      return open?.close();
    }
    const isStale = !message.offset && message.content === '' && Date.now() - message.timestamp > STALE_MS;
    // What this tab's engine wrote ended with the page.
    if (message.streamId === undefined || isStale) {
      await open.change(messageId, { status: 'cut' }).catch(() => undefined);
      lease.release();
      return open.close();
    }
    const options: StartOptions = { ...this.#sameModel(message, {}), runsOn: 'server' };
    // It was a continuation, where its stream has another name than itself.
    this.#drive(open, messageId, lease, options, 'resume', message.streamId !== messageId);
  }

  // Shows what another tab writes, and takes it up where that tab ends before the answer does.
  async #await(convId: Id, messageId: Id): Promise<void> {
    if (this.#awaited.has(messageId)) return;
    const ended = new AbortController();
    this.#awaited.set(messageId, ended);
    const open = await this.deps.open(convId).catch(() => null);
    try {
      if (!open) return;
      this.#live.set(messageId, new Elsewhere(messageId, convId, () => open.messages));
      const lease = await this.deps.leases.take(leaseName(messageId), ended.signal);
      this.#live.delete(messageId);
      await this.#takeUp(convId, messageId, lease);
    } catch {
      this.#live.delete(messageId);
    } finally {
      this.#awaited.delete(messageId);
      open?.close();
    }
  }

  async #stopElsewhere({ messageId, convId }: LiveAnswer): Promise<void> {
    this.deps.channel.tell({ type: 'stop', messageId, convId });
    await new Promise((resolve) => setTimeout(resolve, STOP_MS));
    if (!this.#awaited.has(messageId)) return;
    // That tab is frozen, perhaps. The server ends the answer whoever asks; that tab will read its end.
    const open = await this.deps.open(convId).catch(() => null);
    const streamId = open?.messages.get(messageId)?.streamId;
    if (streamId !== undefined)
      await this.deps
        .engine('server')
        .stop(streamId)
        .catch(() => undefined);
    open?.close();
  }

  #drive(open: Open, id: Id, lease: Lease, options: StartOptions, mode: 'begin' | 'resume', continues: boolean): void {
    const setup = this.deps.setup(open.conversation, options);
    const isLoaded = setup.state === 'loaded' || setup.state === 'sleeping' || mode === 'resume';
    const live = new Live(id, open.conversation.id, isLoaded ? 'reading' : 'loading', this.deps.frame);
    this.#run(open, live, lease, async (signal) => {
      const job = { deps: this.deps, open, live, signal, setup, mode, continues };
      const streamId = open.messages.get(id)?.streamId;
      const end = await write(job);
      // The server goes on without readers, so it is told; not where only this connection is in trouble.
      if (streamId !== undefined && (end === null || end.status === 'stopped')) {
        await this.deps
          .engine('server')
          .stop(streamId)
          .catch(() => undefined);
      }
      if (end?.status === 'done' && end.toolCalls?.length) await this.#callTools(open, live, end, options, signal);
    });
  }

  async #callTools(
    open: Open,
    live: Live,
    message: Message,
    options: StartOptions,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const parent = await runCalls(this.deps, open, live, message, signal);
      // The next answer is a message of its own, also where this one was continued.
      const { continues: _, ...same } = options;
      if (rounds(open.pathTo(parent)) < MAX_ROUNDS) return void (await this.start(open, parent, same));
      const error: Fault = { kind: 'refused', message: `The model has called tools ${MAX_ROUNDS} times in a row.` };
      await open.add({ parent, role: 'assistant', content: '', status: 'failed', files: [], error });
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
  }

  // From here on this tab writes the answer, until `work` is over; then the conversation is closed and the lease given
  // back.
  #run(open: Open, live: Live, lease: Lease, work: (signal: AbortSignal) => Promise<void>): void {
    const { messageId, convId } = live;
    const stop = new AbortController();
    this.#driven.set(messageId, { stop, convId });
    this.#live.set(messageId, live);
    this.deps.channel.tell({ type: 'began', messageId, convId });
    void work(stop.signal)
      .catch((error) => console.error(error))
      .finally(() => {
        this.#driven.delete(messageId);
        this.#live.delete(messageId);
        lease.release();
        open.close();
      });
  }
}
