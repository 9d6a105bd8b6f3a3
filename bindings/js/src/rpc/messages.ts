// Calls over a port. Each has a number; it is answered by any number of events and then one `done` or `fail`.
import type { ErrorData } from '../errors.js';

export type ToServer =
  | { type: 'call'; id: number; method: string; params: unknown }
  | { type: 'cancel'; id: number }
  | { type: 'flow'; id: number; paused: boolean }; // the reader is behind, or has caught up

export type ToClient =
  | { type: 'event'; id: number; event: unknown }
  | { type: 'done'; id: number; result: unknown }
  | { type: 'fail'; id: number; error: ErrorData };
