// When to try again after a failure that may pass.
import { orAborted, PunaError } from '../errors.js';

const kMaxWaitMs = 60_000;

export interface RetryOptions {
  attempts: number; // failures in a row, without a byte between them, before giving up
  firstAttempts: number; // the same as long as the server has given nothing at all
  firstWaitMs: number; // doubles with each failure
}

export const kRetryDefaults: RetryOptions = { attempts: 6, firstAttempts: 3, firstWaitMs: 500 };

// A failure that may pass: a cut, a server that is busy.
export class PassingFailure extends Error {
  constructor(
    message: string,
    readonly busy = false, // the server asks for fewer requests
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

export class Backoff {
  private failures = 0;

  constructor(
    private readonly what: string,
    private readonly options: RetryOptions,
  ) {}

  succeeded(): void {
    this.failures = 0;
  }

  // Waits before the next attempt. Throws `network` when there were enough of them.
  async wait(failure: PassingFailure, signal: AbortSignal, answered: boolean): Promise<void> {
    ++this.failures;
    const attempts = failure.retryAfterMs !== null || answered ? this.options.attempts : this.options.firstAttempts;
    const asked = failure.retryAfterMs ?? 0;
    if (this.failures >= attempts || asked > kMaxWaitMs) {
      const again = asked > kMaxWaitMs ? `in ${Math.ceil(asked / 1000)} seconds` : 'to go on';
      throw new PunaError(
        'network',
        `${this.what} could not be downloaded (${this.failures} failed attempts, the last one: ${failure.message}). What has arrived is kept; load it again ${again}.`,
      );
    }
    const wait = this.options.firstWaitMs * 2 ** (this.failures - 1) * (0.75 + Math.random() / 2);
    await orAborted(new Promise((resolve) => setTimeout(resolve, Math.max(asked, Math.min(wait, kMaxWaitMs)))), signal);
  }
}
