// The engine's WebAssembly module, as bindings/js/exports.cpp and the two JavaScript libraries beside the C++ make it.

// What the module asks of its worker (page.js).
export interface PageHooks {
  readNow(part: number, offset: number, out: Uint8Array): void;
  read(part: number, offset: number, out: Uint8Array): Promise<void>;
  // kind: 0 an event, 1 the answer, 2 an error.
  answer(request: number, kind: number, json: unknown): void;
  answerBytes(request: number, bytes: Uint8Array): void;
  later(resume: () => void): void;
  log(level: number, text: string): void;
}

export interface PunaModule {
  PunaGpu: { add(device: GPUDevice): number };
  stringToNewUTF8(text: string): number;
  _puna_init(): void;
  _puna_send(request: number, operation: number, json: number): void;
  _puna_cancel(request: number): void;
  _puna_close(): void;
}

type Factory = (options: { page: PageHooks; locateFile: (file: string) => string }) => Promise<PunaModule>;

// `base`: URL of the folder with puna.js and puna.wasm.
export async function startModule(base: string, page: PageHooks): Promise<PunaModule> {
  const { default: create } = (await import(new URL('puna.js', base).href)) as { default: Factory };
  const module = await create({ page, locateFile: (file) => new URL(file, base).href });
  module._puna_init();
  return module;
}
