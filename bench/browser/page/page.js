// The page around sweep.js: which models, with what, how far it is, what came out. With #auto it starts by itself, as sweep.mjs wants it.
import { Puna } from './puna/index.js';
import { browserName, deviceFacts, suggestedName } from './facts.js';
import { kDefaults, sweep } from './sweep.js';

const $ = (id) => document.getElementById(id);
const kLimits = { prompt: [0, 1 << 20], decode: [0, 1 << 20], repeats: [1, 1000] };
const models = []; // {name, source, bytes, box}
let facts;
let offered; // what the server offers: {models, settings, name, revision}
let running = null; // AbortController

function showError(error) {
  $('error').hidden = error === null;
  $('error').textContent = error?.message ?? '';
}

function element(tag, text, more = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...more });
}

function describe({ adapter, cores, cross_origin_isolated: isolated }) {
  const gpu = adapter.missing
    ? `No WebGPU: ${adapter.missing}; models run on the CPU.`
    : `${adapter.software ? 'Software adapter' : 'GPU adapter'} ${adapter.description || [adapter.vendor, adapter.architecture].join(' ')}, f16 ${adapter.features.includes('shader-f16') ? 'yes' : 'no'}, subgroups ${adapter.features.includes('subgroups') ? `${adapter.subgroup_min_size ?? '?'} to ${adapter.subgroup_max_size ?? '?'}` : 'no'}.`;
  return `${browserName(facts)}. ${gpu} ${cores} cores, ${isolated ? 'threads allowed' : 'one thread: the page is not cross-origin isolated'}.`;
}

// -- Models and settings

function addModel({ name, source, bytes = null }) {
  if (models.some((model) => model.name === name)) throw new Error(`There is a model named ${name} already.`);
  const box = element('input', '', { type: 'checkbox', checked: true });
  const label = element('label', '');
  label.append(box, ` ${name}${bytes ? ` (${(bytes / 1e6).toFixed(1)} MB)` : ''}`);
  $('list').append(label);
  models.push({ name, source, bytes, box });
}

const nameOf = (address) => decodeURIComponent(address.split(/[?#]/)[0].split('/').filter(Boolean).at(-1) ?? address).replace(/\.gguf$/i, '');

function count(name, text) {
  const [least, most] = kLimits[name] ?? [0, 1 << 20];
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < least || value > most) throw new Error(`"${text}" (${name}) is no whole number from ${least} to ${most}.`);
  return value;
}

function readSettings() {
  const form = new FormData($('form'));
  const settings = { ...offered.settings, device: form.get('device'), gpu_features: form.get('gpu_features') };
  for (const name of Object.keys(kLimits)) settings[name] = count(name, form.get(name));
  settings.depths = form.get('depths').split(',').map((text) => count('depths', text));
  if (new Set(settings.depths).size < settings.depths.length) throw new Error('A depth is given twice.');
  if (settings.prompt === 0 && settings.decode === 0) throw new Error('With no tokens to prefill and none to decode there is nothing to measure.');
  return settings;
}

// -- Running

function showResults({ models: entries, settings }) {
  const columns = settings.depths.flatMap((depth) => ['prefill', 'decode'].map((phase) => [phase, depth])).filter(([phase]) => settings[phase === 'prefill' ? 'prompt' : 'decode'] > 0);
  const head = element('tr', '');
  head.append(element('th', 'model'), ...columns.map(([phase, depth]) => element('th', `${phase}, depth ${depth}`)));
  const rows = entries.map((entry) => {
    const row = element('tr', '');
    const first = element('td', entry.model.name);
    first.append(element('small', entry.device ? `${entry.device.ran_on}: ${entry.device.name}` : ''));
    const failed = (text) => element('td', text, { className: 'failed' });
    const cells = columns.map(([phase, depth]) => cellOf(entry, phase, depth, failed));
    row.append(first, ...(entry.error ? [Object.assign(failed(entry.error), { colSpan: columns.length })] : cells));
    return row;
  });
  $('table').replaceChildren(element('caption', 'Tokens per second: median, and least to greatest of the repeats'), head, ...rows);
  $('results').hidden = false;
}

function cellOf({ results, failures }, phase, depth, failed) {
  const same = (cell) => cell.phase === phase && cell.depth === depth;
  const result = results.find(same);
  if (!result) return failures.some(same) ? failed(failures.find(same).error) : element('td', '');
  const { min, median, max } = result.tokens_per_s;
  const cell = element('td', median.toFixed(1));
  cell.append(element('small', `${min.toFixed(1)} to ${max.toFixed(1)}`));
  return cell;
}

function tell({ text, stage, done, total, report }) {
  $('bar').value = done / total;
  $('what').textContent = text;
  if (stage === 'run') console.info(`sweep: ${text}`);
  showResults(report);
}

async function save(report) {
  const text = `${JSON.stringify(report, null, 1)}\n`;
  const link = element('a', `${report.name}.json`, { href: URL.createObjectURL(new Blob([text], { type: 'application/json' })), download: `${report.name}.json` });
  const answer = await fetch('/results', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: text }).catch((error) => ({ ok: false, text: () => error.message }));
  const said = await answer.text();
  $('saved').replaceChildren(answer.ok ? `The server has kept it as ${said}. ` : `The server did not take it (${said}). `, 'Download: ', link);
}

async function run(report) {
  running = new AbortController();
  $('start').disabled = true;
  $('stop').hidden = $('progress').hidden = false;
  $('saved').textContent = '';
  try {
    const result = await sweep(Puna, { ...report, revision: offered.revision, facts, signal: running.signal, tell });
    showResults(result);
    $('bar').value = 1;
    $('what').textContent = result.stopped ? 'Stopped.' : 'Done.';
    await save(result);
  } finally {
    running = null;
    $('start').disabled = false;
    $('stop').hidden = true;
  }
}

function start() {
  showError(null);
  const chosen = models.filter(({ box }) => box.checked);
  if (chosen.length === 0) throw new Error('No model is chosen.');
  const name = new FormData($('form')).get('name').trim();
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/.test(name)) throw new Error(`The name "${name}" has to consist of letters, digits, ".", "_" and "-".`);
  return run({ name, settings: readSettings(), models: chosen });
}

function guarded(action) {
  return async (event) => {
    event?.preventDefault?.();
    try {
      showError(null);
      await action(event);
    } catch (error) {
      showError(error);
      console.error(`sweep: ${error.message}`);
    }
  };
}

$('form').onsubmit = guarded(start);
$('stop').onclick = () => running?.abort();
$('add').onclick = guarded(() => {
  const address = $('address').value.trim();
  if (address) addModel({ name: nameOf(address), source: address });
  $('address').value = '';
});
$('files').onchange = guarded(() => [...$('files').files].forEach((file) => addModel({ name: nameOf(file.name), source: file, bytes: file.size })));
$('clear').onclick = guarded(async () => {
  let freed = 0;
  for (const { id } of await Puna.models.list()) freed += await Puna.models.delete(id);
  $('saved').textContent = `${(freed / 1e6).toFixed(0)} MB are free again.`;
  $('results').hidden = false;
});

await guarded(async () => {
  offered = await (await fetch('/offer.json')).json();
  facts = await deviceFacts();
  $('facts').textContent = describe(facts);
  const settings = { ...kDefaults, ...offered.settings };
  for (const [name, value] of Object.entries({ ...settings, name: offered.name ?? suggestedName(facts) })) {
    const input = $('form').elements[name];
    if (input) input.value = String(value);
  }
  offered.models.forEach(addModel);
  if (location.hash === '#auto') await start();
})();
