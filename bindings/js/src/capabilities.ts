// What this browser has for running models.

export interface Capabilities {
  secureContext: boolean; // https or localhost; without it there is neither WebGPU nor storage
  // Null: no WebGPU, or no adapter; models then run on the CPU.
  gpu: { vendor: string; architecture: string; software: boolean; features: string[]; maxBufferBytes: number; maxBindingBytes: number } | null;
  simd: boolean; // needed
  threads: number; // that the CPU device can use: 1 unless the page is cross-origin isolated
  storage: { opfs: boolean; cache: boolean; indexeddb: boolean; persisted: boolean; usedBytes: number | null; quotaBytes: number | null };
  sharing: boolean; // one engine for several tabs
  serviceWorker: boolean;
}

// An empty module with one SIMD instruction: (func (result v128) i32.const 0 i8x16.splat i8x16.popcnt).
const kSimdModule = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

export async function capabilities(): Promise<Capabilities> {
  const storage: StorageManager | undefined = navigator.storage;
  const estimate = await storage?.estimate?.().catch(() => undefined);
  return {
    secureContext: self.isSecureContext,
    gpu: await gpu(),
    simd: WebAssembly.validate(kSimdModule),
    threads: self.crossOriginIsolated && typeof SharedArrayBuffer !== 'undefined' ? navigator.hardwareConcurrency : 1,
    storage: {
      opfs: typeof storage?.getDirectory === 'function',
      cache: 'caches' in self,
      indexeddb: 'indexedDB' in self,
      persisted: (await storage?.persisted?.().catch(() => false)) ?? false,
      usedBytes: estimate?.usage ?? null,
      quotaBytes: estimate?.quota ?? null,
    },
    sharing: Boolean(navigator.locks) && typeof BroadcastChannel !== 'undefined',
    serviceWorker: 'serviceWorker' in navigator,
  };
}

async function gpu(): Promise<Capabilities['gpu']> {
  const adapter = await navigator.gpu?.requestAdapter().catch(() => null);
  if (!adapter) return null;
  const { info, limits } = adapter;
  return {
    vendor: info.vendor,
    architecture: info.architecture,
    software: info.isFallbackAdapter || info.architecture === 'swiftshader',
    features: [...adapter.features].sort(),
    maxBufferBytes: limits.maxBufferSize,
    maxBindingBytes: limits.maxStorageBufferBindingSize,
  };
}
