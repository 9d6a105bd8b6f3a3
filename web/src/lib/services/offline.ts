// The service worker, registered: the page opens without a network, and on a static host /v1 is answered by this tab's
// engine.
import type { PunaEngine, PunaPackage } from './tab/package.ts';

const SCRIPT = './service-worker.js';

// One service worker a folder, so ours takes the package's part in, where `isStatic` says that no server answers /v1.
const script = (isStatic: boolean) => (isStatic ? `${SCRIPT}?v1` : SCRIPT);

// Plain http from another host has no service workers; then there is nothing to do. A page that is being developed has
// none either.
export async function keepOffline(isStatic: boolean): Promise<void> {
  if (!('serviceWorker' in navigator)) return;
  await navigator.serviceWorker.register(script(isStatic)).catch(() => undefined);
}

// Gives the function that ends it.
export async function answerV1(puna: PunaPackage, engine: PunaEngine): Promise<() => void> {
  const link = await puna.serviceWorker(script(true));
  return link.serve(engine);
}
