// Tells other tabs of this page what was changed, and hears it from them.
import type { Change } from './tables.ts';

export interface News {
  changes: readonly Change[];
  saved: boolean;
  // What was told as not saved, and is by now.
  settled?: readonly Change[];
}

// Another version of the page may use another form.
type Word = News & { form: 1 };

export class Tabs {
  #channel: BroadcastChannel | undefined;

  // `missed`: something was said that could not be read, or nothing was heard for a while.
  constructor(name: string, heard: (news: News) => void, missed: () => void) {
    if (typeof BroadcastChannel === 'undefined') return;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Word | undefined>) => {
      if (data?.form === 1) heard(data);
      else missed();
    };
    this.#channel.onmessageerror = missed;
    // Back from the cache of pages, where channels are deaf.
    if (typeof addEventListener === 'function') addEventListener('pageshow', (event) => event.persisted && missed());
    // Node would wait for it at its end.
    (this.#channel as { unref?: () => void }).unref?.();
  }

  tell(news: News): void {
    const word: Word = { form: 1, ...news };
    try {
      this.#channel?.postMessage(word);
    } catch {
      // It cannot be copied to where it is read anew; it is in the database.
    }
  }

  close(): void {
    this.#channel?.close();
  }
}
