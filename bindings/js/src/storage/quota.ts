// Whether the browser has room for a download, and texts that give sizes.
import { PunaError } from '../errors.js';

// Throws `quota` when the browser says that this site may not keep `bytes` more. Some browsers say more than they then give.
export async function checkQuota(bytes: number, what: string): Promise<void> {
  const estimate = await navigator.storage?.estimate?.().catch(() => null);
  if (!estimate || estimate.quota === undefined) return;
  const free = Math.max(0, estimate.quota - (estimate.usage ?? 0));
  if (bytes > free) throw full(bytes, what, `the browser lets this site keep only ${formatBytes(free)} more`, estimate);
}

// The error for a write that was refused although checkQuota() saw room; `bytes` were still to come.
export async function storageIsFull(bytes: number | null, what: string): Promise<PunaError> {
  const estimate = await navigator.storage?.estimate?.().catch(() => undefined);
  return full(bytes, what, 'the browser or the disk takes no more', estimate ?? {});
}

function full(bytes: number | null, what: string, why: string, { usage, quota }: StorageEstimate): PunaError {
  const needs = bytes === null ? 'more storage' : `${formatBytes(bytes)} more of storage`;
  const used = usage === undefined || quota === undefined ? '' : ` (${formatBytes(usage)} of ${formatBytes(quota)} are used)`;
  return new PunaError('quota', `${what} needs ${needs}, but ${why}${used}. Delete models that are not needed, or free disk space; what has arrived is kept.`);
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1]}`;
}
