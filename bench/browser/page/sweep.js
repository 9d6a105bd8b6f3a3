// The measurement: models one after the other, each at every depth and phase, through the npm package.
import { browserName } from './facts.js';
import { rangeOf } from './logits.js';

export const kKind = 'puna browser sweep';

// What `settings` may hold, with defaults; null leaves a choice to the engine.
export const kDefaults = {
  device: 'auto', gpu_features: 'all', numerics: null, kv_type: null, threads: null, prompt: 512, decode: 128, depths: [0, 2048], repeats: 5,
};

// `models`: [{name, source, bytes}], sources as Puna.load takes them. `tell` is called with {text, stage, done, total, report} as it goes on. Errors of
// a model or of a cell are part of the document; only the signal stops a sweep.
export async function sweep(Puna, { name, revision = null, models, facts, settings, signal, tell = () => undefined }) {
  const used = { ...kDefaults, ...settings };
  const report = { kind: kKind, version: 1, name, browser: browserName(facts), revision, date: new Date().toISOString(), facts, settings: used, models: [] };
  const cells = used.depths.flatMap((depth) => [['prefill', used.prompt], ['decode', used.decode]].map(([phase, tokens]) => ({ phase, tokens, depth }))).filter(({ tokens }) => tokens > 0);
  const total = models.length * cells.length;
  const hidden = watchVisibility();
  const lock = await navigator.wakeLock?.request('screen').catch(() => null);
  try {
    for (const [i, model] of models.entries()) {
      if (signal?.aborted) break;
      const run = new ModelRun(Puna, model, used, facts);
      report.models.push(run.entry);
      const say = (text, done, stage = 'run') => tell({ text: `${model.name}: ${text}`, stage, done: i * cells.length + done, total, report });
      await run.measure(cells, hidden, say, signal);
      say(run.entry.error ?? 'done', cells.length);
    }
  } finally {
    hidden.end();
    await lock?.release();
  }
  return { ...report, stopped: signal?.aborted ?? false };
}

class ModelRun {
  constructor(Puna, model, settings, facts) {
    this.Puna = Puna;
    this.model = model;
    this.settings = settings;
    this.facts = facts;
    this.states = [];
    this.entry = { model: { name: model.name, address: typeof model.source === 'string' ? model.source : null, bytes: model.bytes ?? null }, results: [], failures: [] };
  }

  async measure(cells, hidden, say, signal) {
    let engine;
    const close = () => void engine?.close();
    try {
      engine = await this.load(say, signal);
      signal?.addEventListener('abort', close);
      for (const [i, cell] of cells.entries()) {
        say(`${cell.phase} ${cell.tokens} at depth ${cell.depth}`, i);
        await this.measureCell(engine, cell, hidden);
        if (signal?.aborted) return;
      }
      this.entry.memory_after = await engine.memory();
      this.entry.output = await checkOutput(engine);
    } catch (error) {
      this.entry.error = error.message;
      this.entry.results = []; // of a model that is wrong here, or was not there
    } finally {
      signal?.removeEventListener('abort', close);
      await engine?.close();
    }
  }

  async load(say, signal) {
    const { device, gpu_features: gpuFeatures, numerics, kv_type: kvType, threads, depths, prompt, decode } = this.settings;
    const context = Math.max(...depths) + Math.max(prompt, decode) + 1;
    const options = { device, gpuFeatures, context, persist: false, numerics: numerics ?? undefined, kvType: kvType ?? undefined, threads: threads ?? undefined };
    const onProgress = ({ stage, doneBytes, totalBytes }) => say(`${stage} ${totalBytes ? `${Math.floor((100 * doneBytes) / totalBytes)} %` : `${doneBytes} bytes`}`, 0, stage);
    const engine = await this.Puna.load(this.model.source, { ...options, signal, onProgress, onState: (state) => this.states.push(state) });
    const { info } = engine;
    Object.assign(this.entry, { architecture: info.architecture, context: info.context, threads: info.threads, load_ms: info.load_ms, memory: info.memory });
    this.entry.device = { ...info.device, ran_on: this.ranOn(info.device) };
    return engine;
  }

  // The engine says whether it computes on a GPU; the adapter's facts, whether that is one in more than name.
  ranOn({ type }) {
    if (type !== 'gpu') return 'cpu';
    return this.facts.adapter.software ? 'software gpu' : 'gpu';
  }

  async measureCell(engine, { phase, tokens, depth }, hidden) {
    const fail = (error) => this.entry.failures.push({ phase, tokens, depth, error });
    const losses = this.states.length;
    hidden.reset();
    try {
      const report = await engine.bench({ prompt: phase === 'prefill' ? tokens : 0, decode: phase === 'decode' ? tokens : 0, depths: [depth], repeats: this.settings.repeats });
      const [result] = report.results;
      if (report.device.type !== this.entry.device.type) return fail(`the engine went from ${this.entry.device.type} to ${report.device.type}`);
      if (this.states.length > losses) return fail(`the GPU went away meanwhile (${this.states.at(-1).reason})`);
      if (hidden.was) return fail('the page was hidden meanwhile, and browsers slow hidden pages down');
      this.entry.results.push(result);
    } catch (error) {
      fail(error.message);
    }
  }
}

async function checkOutput(engine) {
  const { vocab } = engine.info;
  const logits = await engine.logits(Array.from({ length: 8 }, (_, i) => (i * 7 + 1) % vocab));
  return { logits: logits.length, ...rangeOf(logits) };
}

function watchVisibility() {
  const look = () => (state.was ||= document.hidden);
  const state = { was: false, reset: () => (state.was = document.hidden), end: () => document.removeEventListener('visibilitychange', look) };
  document.addEventListener('visibilitychange', look);
  return state;
}
