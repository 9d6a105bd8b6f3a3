// The only door to models: the server's and this tab's, behind one interface.
import type { Engine, RunsOn } from '../types/engine.ts';
import { HttpEngine } from './http/http_engine.ts';
import { TabEngine } from './tab/tab_engine.ts';

let key = '';

// Of the server; '' for none. Gives whether it is another one.
export function setApiKey(value: string): boolean {
  const isOther = key !== value;
  key = value;
  return isOther;
}

export const serverEngine = new HttpEngine({
  base: './',
  key: () => key || undefined,
  fetch: (input, init) => globalThis.fetch(input, init),
});

export const tabEngine = new TabEngine();

const engines: Record<RunsOn, Engine> = { server: serverEngine, tab: tabEngine };

export function engineOf(runsOn: RunsOn): Engine {
  return engines[runsOn];
}
