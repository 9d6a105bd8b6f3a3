// Whether this tab can run models, how well, and what would help where it cannot.
import type { TabLack, TabState } from '../../types/engine.ts';
import { loadPackage, type PunaPackage } from './package.ts';

const LACKS: Record<TabLack, { why: string; help: string }> = {
  absent: {
    why: 'This build of the page has no engine for the browser.',
    help: 'Use a release of Puna, or build the engine with the preset "wasm".',
  },
  insecure: {
    why: 'Browsers let pages compute on their own only over https, or on the machine that serves them.',
    help: 'Open the page over https, or as http://localhost on the machine of the server.',
  },
  wasm: {
    why: 'This browser has no WebAssembly with SIMD.',
    help: 'Use a current version of Chrome, Edge, Firefox or Safari.',
  },
  private: {
    why: 'This browser gives the page no storage, so that no model could be kept.',
    help: 'Open the page outside of a private window, or allow it to store data.',
  },
};

const SLOW = {
  why: 'This browser has no WebGPU on a real GPU, so models run on the processor, which is slower.',
  help: 'Use a current Chrome, Edge, Firefox or Safari with graphics acceleration switched on.',
};

const lacking = (lack: TabLack): TabState => ({ able: false, device: 'none', lack, ...LACKS[lack] });

export async function abilityOfTab(load: () => Promise<PunaPackage> = loadPackage): Promise<TabState> {
  if (!globalThis.isSecureContext) return lacking('insecure');
  let puna: PunaPackage;
  try {
    puna = await load();
  } catch {
    return lacking('absent');
  }
  const { gpu, simd, storage } = await puna.capabilities();
  if (!simd) return lacking('wasm');
  if (!storage.opfs && !storage.cache && !storage.indexeddb) return lacking('private');
  const hasGpu = gpu !== null && !gpu.software;
  const state: TabState = { able: true, device: hasGpu ? 'gpu' : 'cpu' };
  if (!hasGpu) Object.assign(state, SLOW);
  const memory = (navigator as { deviceMemory?: number }).deviceMemory;
  if (memory !== undefined) state.memoryBytes = memory * 2 ** 30;
  if (storage.usedBytes !== null) state.usedBytes = storage.usedBytes;
  if (storage.quotaBytes !== null) state.quotaBytes = storage.quotaBytes;
  return state;
}

// Browsers never tell of more memory than this.
const MOST_TOLD_BYTES = 8 * 2 ** 30;
const MOST_CPU_BYTES = 4 * 2 ** 30;

// Why a model of this size will hardly run here; undefined: it may. On the processor the weights lie in WebAssembly's
// memory.
export function tooLarge(bytes: number, { device, memoryBytes }: TabState): string | undefined {
  const gib = (value: number) => `${(value / 2 ** 30).toFixed(1)} GiB`;
  if (device === 'cpu' && bytes >= MOST_CPU_BYTES)
    return `It has ${gib(bytes)}; without WebGPU a tab has ${gib(MOST_CPU_BYTES)} at most.`;
  if (memoryBytes !== undefined && memoryBytes < MOST_TOLD_BYTES && bytes > memoryBytes * 0.7) {
    return `It has ${gib(bytes)}, and this device about ${gib(memoryBytes)} of memory in all.`;
  }
  return undefined;
}
