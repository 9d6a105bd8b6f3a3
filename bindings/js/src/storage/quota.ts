// Whether the browser has room for a download, and texts that give sizes.
import { PunaError } from '../errors.js';

// Throws `quota` when the browser lets this site keep fewer than `bytes` more.
export async function checkQuota(bytes: number, what: string): Promise<void> {
  const estimate = await navigator.storage?.estimate?.().catch(() => null);
  if (!estimate || estimate.quota === undefined) return;
  const free = estimate.quota - (estimate.usage ?? 0);
  if (bytes <= free) return;
  throw new PunaError(
    'quota',
    `${what} needs ${formatBytes(bytes)} of storage, but the browser lets this site keep only ${formatBytes(Math.max(0, free))} more ` +
      `(${formatBytes(estimate.usage ?? 0)} of ${formatBytes(estimate.quota)} are used). Delete models that are not needed, or free disk space.`,
  );
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1]}`;
}
