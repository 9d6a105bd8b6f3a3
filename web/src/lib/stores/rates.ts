// How fast models have answered, by where they run: the median of the last answers.
import type { RunsOn } from '../types/engine.ts';

// Tokens a second, newest last.
export type Rates = Record<string, number[]>;

const KEPT = 5;

export const rateKey = (model: string, runsOn: RunsOn) => `${runsOn}:${model}`;

export function withRate(rates: Rates, key: string, rate: number): Rates {
  return { ...rates, [key]: [...(rates[key] ?? []), rate].slice(-KEPT) };
}

// Undefined: nothing was measured.
export function median(values: readonly number[] = []): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length === 0) return undefined;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1]! + sorted[half]!) / 2;
}
