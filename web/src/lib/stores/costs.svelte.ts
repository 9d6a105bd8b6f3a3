// How many tokens a file takes in a prompt, as the engine counts them: asked once for each file and model.
import { SvelteMap } from 'svelte/reactivity';
import { getFile } from '../storage/files.ts';
import type { FileRef } from '../types/conversation.ts';
import type { ChatMessage } from '../types/engine.ts';
import { contentOf } from './answers/prompt.ts';
import type { Choice } from './answers/deps.ts';
import { models } from './models.svelte.ts';
import { rateKey } from './rates.ts';

const keyOf = ({ model, runsOn }: Choice, { sha256, pages }: FileRef) => `${rateKey(model, runsOn)}|${sha256}|${pages?.length ?? ''}`;

// A file is measured beside a word: a message of nothing is refused by some templates.
const WORD = 'file';

type Count = (choice: Choice, messages: ChatMessage[]) => Promise<number | undefined>;

export class Costs {
  readonly #known = new SvelteMap<string, number>();
  readonly #asking = new Set<string>();

  constructor(
    private readonly count: Count,
    private readonly bytes: typeof getFile,
  ) {}

  // Undefined until the engine has told, or where it cannot.
  of(choice: Choice | undefined, file: FileRef): number | undefined {
    return choice && this.#known.get(keyOf(choice, file));
  }

  // Of all of them; undefined where one is not known.
  sum(choice: Choice | undefined, files: readonly FileRef[]): number | undefined {
    let sum = 0;
    for (const file of files) {
      const cost = this.of(choice, file);
      if (cost === undefined) return undefined;
      sum += cost;
    }
    return sum;
  }

  // Asks for what is not known, one after the other: the bytes go to the engine for it.
  async ask(choice: Choice, files: readonly FileRef[]): Promise<void> {
    for (const file of files) {
      const key = keyOf(choice, file);
      if (this.#known.has(key) || this.#asking.has(key)) continue;
      this.#asking.add(key);
      try {
        const cost = await this.#measure(choice, file);
        if (cost !== undefined) this.#known.set(key, cost);
      } catch {
        // Nobody can tell; sending says why.
      } finally {
        this.#asking.delete(key);
      }
    }
  }

  async #measure(choice: Choice, file: FileRef): Promise<number | undefined> {
    const content = await contentOf({ content: WORD, files: [file] }, this.bytes);
    const [alone, together] = await Promise.all([
      this.count(choice, [{ role: 'user', content: WORD }]),
      this.count(choice, [{ role: 'user', content }]),
    ]);
    return alone === undefined || together === undefined ? undefined : Math.max(0, together - alone);
  }
}

export const costs = new Costs((choice, messages) => models.count(choice, messages), getFile);
