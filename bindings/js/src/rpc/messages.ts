// Calls over a port. Each has a number; it is answered by any number of events and then one `done` or `fail`.
import type { ErrorData } from '../errors.js';

export type ToServer =
  | { type: 'call'; id: number; method: string; params: unknown }
  | { type: 'cancel'; id: number }
  | { type: 'read'; id: number; events: number }; // so many more of the call's events have been read

// A sender waits when its reader has not read so many events, until it has read all but kResumeAt of them. The reader tells what it has
// read kReadStep events at a time, so kResumeAt is no less: a reader that has read everything owes fewer.
export const kMostUnread = 64;
export const kResumeAt = 16;
export const kReadStep = 16;

export type ToClient =
  | { type: 'event'; id: number; event: unknown }
  | { type: 'done'; id: number; result: unknown }
  | { type: 'fail'; id: number; error: ErrorData };
