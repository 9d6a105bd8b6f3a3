// The engine's WebAssembly module, as bindings/js/exports.cpp and the two JavaScript libraries beside the C++ make it.

// What the module asks of its worker (page.js).
export interface PageHooks {
  readNow(part: number, offset: number, out: Uint8Array): void;
  read(part: number, offset: number, out: Uint8Array): Promise<void>;
  write(file: number, bytes: Uint8Array): void; // that the page has lent it
  // kind: 0 an event, 1 the answer, 2 an error.
  answer(request: number, kind: number, json: unknown): void;
  answerBytes(request: number, bytes: Uint8Array): void;
  later(resume: () => void): void;
  log(level: number, text: string): void;
}

export interface PunaModule {
  PunaGpu: { add(device: GPUDevice): number };
  HEAPU8: Uint8Array; // all of its memory
  stringToNewUTF8(text: string): number;
  _puna_init(): void;
  _puna_send(request: number, operation: number, json: number): void;
  _puna_cancel(request: number): void;
  _puna_hold(request: number, on: number): void;
  _puna_close(): void;
}

type Factory = (options: { page: PageHooks; threads: number; locateFile: (file: string) => string }) => Promise<PunaModule>;

// A function with one relaxed SIMD instruction, f32x4.relaxed_madd, for WebAssembly.validate().
const relaxedSimd = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 123, 123, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32, 1, 32, 2, 253, 133, 2, 11,
]);

// How many threads the engine may have here: more than one only where the page is cross-origin isolated. Hardware threads come in pairs
// on most machines with more than two, and the kernels keep a core busy with one.
export function usableThreads(asked?: number): number {
  if (!globalThis.crossOriginIsolated || !WebAssembly.validate(relaxedSimd)) return 1;
  const hardware = navigator.hardwareConcurrency || 1;
  return Math.min(asked ?? (hardware > 2 ? hardware >> 1 : hardware), hardware, 16);
}

// `base`: URL of the folder with puna.js and puna.wasm, and puna-mt.js and puna-mt.wasm for more than one thread; where a server has
// not those, or this device has not the memory that threads would share, the other two do with one thread. Also says how many threads
// there are.
export async function startModule(base: string, page: PageHooks, threads: number): Promise<{ module: PunaModule; threads: number }> {
  const several = threads > 1 ? await create(base, 'puna-mt.js', page, threads).catch((error: unknown) => String(error)) : null;
  if (typeof several === 'string') console.warn(`puna: one thread is used in place of ${threads}: puna-mt.js of ${base} did not start (${several}).`);
  const module = several instanceof Object ? several : await create(base, 'puna.js', page, 1);
  module._puna_init();
  return { module, threads: several === module ? threads : 1 };
}

async function create(base: string, file: string, page: PageHooks, threads: number): Promise<PunaModule> {
  const { default: factory } = (await import(new URL(file, base).href)) as { default: Factory };
  return factory({ page, threads: threads - 1, locateFile: (name) => new URL(name, base).href });
}
