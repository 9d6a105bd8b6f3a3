// Puna for compare.mjs; peers.mjs says what each file of this folder has.
export const folders = ({ dist }) => ({ '/puna/': dist });

export const fetched = ({ several }) => ['/puna/index.js', '/puna/worker.js', ...(several ? ['/puna/puna-mt.js', '/puna/puna-mt.wasm'] : ['/puna/puna.js', '/puna/puna.wasm'])];

export async function open() {
  const { Puna } = await import('/puna/index.js');
  let engine;
  return {
    async load(o) {
      engine = await Puna.load('/model.gguf', { device: o.device, context: o.context, threads: o.threads, persist: false });
      return { device: engine.info.device, threads: engine.info.threads, memory: engine.info.memory };
    },
    async run(prompt, n, onPiece) {
      let last;
      let text = '';
      for await (const chunk of engine.complete({ prompt, max_tokens: n, temperature: 0, ignore_eos: true })) {
        last = chunk;
        text += chunk.choices[0].text;
        if (chunk.choices[0].text) onPiece();
      }
      return { prompt_tokens: last.usage.prompt_tokens, tokens: last.usage.completion_tokens, text };
    },
    async check(prompt) {
      const { rangeOf } = await import('/page/logits.js');
      const logits = await engine.logits(await engine.tokenize(prompt, { special: true }));
      return { device: engine.info.device.type, logits: rangeOf(logits.subarray(-engine.info.vocab)) };
    },
  };
}
