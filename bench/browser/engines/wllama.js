// wllama, llama.cpp as WebAssembly, for compare.mjs: --wllama names the unpacked npm package @wllama/wllama (npm pack).
export const folders = ({ wllama }) => ({ '/wllama/': `${wllama}/esm` });

export const packages = ({ wllama }) => [wllama];

export const fetched = () => ['/wllama/index.min.js', '/wllama/wasm/wllama.wasm'];

export async function open() {
  const { Wllama } = await import('/wllama/index.js');
  const placement = []; // only its log tells where its weights are: WebGPU may be there and not be used
  const note = (...parts) => {
    const line = parts.join(' ').trim();
    if (/offload|model buffer size/i.test(line)) placement.push(line);
  };
  const engine = new Wllama({ default: '/wllama/wasm/wllama.wasm' }, { logger: { debug: note, log: note, warn: note, error: note } });
  return {
    async load(o) {
      await engine.loadModelFromUrl(location.origin + '/model.gguf', { n_ctx: o.context, n_batch: 512, n_threads: o.threads, n_gpu_layers: o.device === 'gpu' ? 999 : 0 });
      return { threads: engine.getNumThreads(), multithread: engine.isMultithread(), placement };
    },
    async run(prompt, n, onPiece) {
      let timings = null;
      let tokens = 0;
      let text = '';
      const onData = (d) => {
        if (d.choices?.[0]?.text) {
          ++tokens;
          text += d.choices[0].text;
          onPiece();
        }
        timings = d.timings ?? timings;
      };
      await engine.createCompletion({ prompt, max_tokens: n, temperature: 0, ignore_eos: true, cache_prompt: false, stream: true, timings_per_token: true, onData });
      return { prompt_tokens: timings?.prompt_n ?? 0, tokens: timings?.predicted_n ?? tokens, text };
    },
    check: async () => ({ device: placement.some((line) => /WebGPU model buffer/.test(line)) ? 'gpu' : 'cpu' }),
  };
}
