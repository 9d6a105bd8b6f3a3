// Runs in the page, not where it is rendered ahead; after the first paint, so that nothing of it delays that.
export const inPage = typeof window !== 'undefined';

export function afterPaint(run: () => void): void {
  if (!inPage) return;
  // A hidden page paints no frames.
  if (document.visibilityState === 'hidden') setTimeout(run);
  else requestAnimationFrame(() => setTimeout(run));
}
