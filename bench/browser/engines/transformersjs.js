// Transformers.js for compare.mjs: --transformersjs names a folder in which `npm install --ignore-scripts @huggingface/transformers@4.3.2` was run, --onnx
// what bench/peers/export_onnx.py wrote, --dtype which of its models (q4, q8, q4f16, fp16, fp32). As in its own examples of chats, the model lives in a worker: this
// file too. Files are fetched as from its hub, so that it keeps them in the browser's cache.
export const folders = ({ transformersjs, onnx }) => ({
  '/transformersjs/': `${transformersjs}/node_modules/@huggingface/transformers/dist`,
  '/ort/': `${transformersjs}/node_modules/onnxruntime-web/dist`,
  '/onnx/': onnx,
});

export const packages = ({ transformersjs }) => [`${transformersjs}/node_modules/@huggingface/transformers`, `${transformersjs}/node_modules/onnxruntime-web`];

// Files of two types are not called by them.
const endings = { fp32: '', q8: '_quantized' };
export const model = ({ dtype }) => `/onnx/onnx/model${endings[dtype] ?? `_${dtype}`}.onnx`;

// The build of ONNX Runtime that it takes from its CDN unless told otherwise, on the CPU too.
const kRuntime = '/ort/ort-wasm-simd-threaded.asyncify';

export const fetched = () => ['/transformersjs/transformers.min.js', `${kRuntime}.mjs`, `${kRuntime}.wasm`];

export async function open() {
  const worker = new Worker(import.meta.url, { type: 'module' });
  const ask = (question, onPiece) =>
    new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({ data }) => {
        if (data.piece) onPiece();
        else if (data.error) reject(new Error(data.error));
        else resolve(data.answer);
      };
      worker.postMessage(question);
    });
  return {
    load: (options) => ask({ name: 'load', options }),
    run: (prompt, n, onPiece) => ask({ name: 'run', prompt, n }, onPiece),
    check: (prompt) => ask({ name: 'check', prompt }),
  };
}

// The worker's half.

// What is asked of the GPU: nothing else tells whether a session that was given the device webgpu computes there. `adapter` is that of its device.
const gpu = { adapter: null, buffer_mib: 0, submits: 0 };

function watchGpu() {
  if (typeof GPUDevice === 'undefined') return;
  const { createBuffer } = GPUDevice.prototype;
  GPUDevice.prototype.createBuffer = function (descriptor) {
    gpu.adapter ??= `${this.adapterInfo.vendor} ${this.adapterInfo.architecture}`;
    gpu.buffer_mib += descriptor.size / 2 ** 20;
    return createBuffer.call(this, descriptor);
  };
  const { submit } = GPUQueue.prototype;
  GPUQueue.prototype.submit = function (commands) {
    ++gpu.submits;
    return submit.call(this, commands);
  };
}

const actions = {
  async load({ options }) {
    watchGpu();
    const { env, AutoTokenizer, AutoModelForCausalLM, TextStreamer } = await import('/transformersjs/transformers.min.js');
    env.remoteHost = self.location.origin;
    env.remotePathTemplate = '/onnx/';
    env.backends.onnx.wasm.wasmPaths = { mjs: new URL(`${kRuntime}.mjs`, self.location).href, wasm: new URL(`${kRuntime}.wasm`, self.location).href };
    const device = options.device === 'gpu' ? 'webgpu' : 'wasm';
    if (device === 'wasm') env.backends.onnx.wasm.numThreads = options.threads; // on a GPU it has few uses for threads, and starts as many as it likes
    const [tokenizer, causal] = await Promise.all([AutoTokenizer.from_pretrained('model'), AutoModelForCausalLM.from_pretrained('model', { device, dtype: options.dtype })]);
    actions.run = async ({ prompt, n }) => {
      const inputs = tokenizer(prompt);
      let text = '';
      const streamer = new TextStreamer(tokenizer, {
        skip_prompt: true,
        callback_function: (piece) => (text += piece),
        token_callback_function: () => self.postMessage({ piece: true }),
      });
      // No token is -1: the text goes on behind its end, as the others' do.
      const output = await causal.generate({ ...inputs, max_new_tokens: n, do_sample: false, eos_token_id: -1, streamer });
      const prompt_tokens = inputs.input_ids.dims[1];
      return { prompt_tokens, tokens: output.dims[1] - prompt_tokens, text };
    };
    actions.check = async ({ prompt }) => {
      const { rangeOf } = await import('/page/logits.js');
      const before = gpu.submits;
      const { logits } = await causal(tokenizer(prompt));
      const submits = gpu.submits - before;
      return { device: submits > 0 ? 'gpu' : 'cpu', gpu: { ...gpu, submits }, logits: rangeOf(logits.to('float32').data.subarray(-logits.dims.at(-1))) };
    };
    return { device, dtype: options.dtype, threads: env.backends.onnx.wasm.numThreads };
  },
};

if (typeof DedicatedWorkerGlobalScope !== 'undefined') {
  self.onmessage = async ({ data }) => {
    try {
      self.postMessage({ answer: await actions[data.name](data) });
    } catch (error) {
      self.postMessage({ error: String(error?.stack ?? error) });
    }
  };
}
