// A page around the npm package `puna`: pick or drop a model, watch it load, chat, stop. No framework, nothing from elsewhere.
import { Puna } from './puna/index.js';

const $ = (id) => document.getElementById(id);
let engine = null;
let loading = null; // AbortController of the load
let answering = null; // AbortController of the answer
let messages = [];

// -- Picking a model

function bytes(n) {
  const power = n < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(n) / 3));
  return `${(n / 1000 ** power).toFixed(power > 1 ? 1 : 0)} ${['B', 'kB', 'MB', 'GB'][power]}`;
}

function modelItem({ title, note, button, source, deleteId }) {
  const item = document.createElement('li');
  const add = (tag, text, more = {}) => item.appendChild(Object.assign(document.createElement(tag), { textContent: text, ...more }));
  add('strong', title);
  add('small', note);
  if (deleteId) add('button', 'Delete', { className: 'quiet', onclick: () => remove(deleteId) });
  add('button', button, { onclick: () => load(source) });
  return item;
}

async function showModels() {
  const stored = await Puna.models.list().catch(() => []);
  const items = Puna.models.catalogue.map((entry) => {
    const found = stored.find(({ name }) => name === entry.name);
    const state = found?.complete ? 'stored' : found?.bytes ? `${bytes(found.bytes)} of it are stored` : 'one download';
    return modelItem({
      title: entry.title,
      note: `${bytes(entry.bytes)}, ${state}. ${entry.license}`,
      button: found?.complete ? 'Open' : 'Load',
      source: entry.name,
      deleteId: found?.bytes ? found.id : null,
    });
  });
  for (const model of stored.filter(({ name }) => !Puna.models.catalogue.some((entry) => entry.name === name))) {
    const note = model.complete ? `${bytes(model.bytes)}, stored` : `${bytes(model.bytes)} of ${model.totalBytes ? bytes(model.totalBytes) : 'it'} are stored`;
    items.push(modelItem({ title: model.name, note, button: model.complete ? 'Open' : 'Go on', source: sourceOf(model), deleteId: model.id }));
  }
  $('models').replaceChildren(...items);
}

// Files that were kept are found by their name, others by their address.
const sourceOf = ({ id, name }) => (/^https?:/.test(id) ? id : name);

async function remove(id) {
  showError(null);
  await Puna.models.delete(id).catch(showError);
  await showModels();
}

// -- Loading

const stages = { waiting: 'Another tab is downloading it', download: 'Downloading', load: 'Preparing' };

function showProgress({ stage, source, doneBytes, totalBytes, bytesPerSecond }) {
  if (totalBytes) $('bar').value = doneBytes / totalBytes;
  else $('bar').removeAttribute('value');
  const parts = [`${stage === 'download' && source !== 'network' ? 'Opening' : stages[stage]}: ${bytes(doneBytes)}${totalBytes ? ` of ${bytes(totalBytes)}` : ''}`];
  if (bytesPerSecond) {
    parts.push(`${bytes(bytesPerSecond)}/s`);
    if (totalBytes) parts.push(`${time((totalBytes - doneBytes) / bytesPerSecond)} left`);
  }
  $('loading-how').textContent = parts.join(' · ');
}

const time = (seconds) => (seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`);

async function load(source) {
  if (loading) return;
  showError(null);
  loading = new AbortController();
  $('loading-what').textContent = typeof source === 'string' ? source : (source.name ?? 'Files of this device');
  $('loading-how').textContent = 'Starting';
  $('bar').removeAttribute('value');
  show('loading');
  try {
    engine = await Puna.load(source, { signal: loading.signal, device: $('on').value, onProgress: showProgress, onState: showState });
    startChat();
  } catch (error) {
    show('pick');
    await showModels();
    if (error.code !== 'aborted') showError(error);
  } finally {
    loading = null;
  }
}

function showState({ state, reason }) {
  const what = { recovering: 'loading the model again …', recovered: 'the model is loaded again.', failed: 'the model could not be loaded again.' };
  $('status').textContent = `The GPU went away (${reason}); ${what[state]}`;
}

// -- Chatting

function startChat() {
  const { name, device, context, chat } = engine.info;
  messages = [];
  $('messages').replaceChildren();
  $('device').textContent = `${name} on ${device.type === 'gpu' ? `the GPU (${device.name})` : device.name}, ${context} tokens of context`;
  $('device').title = device.why;
  $('prompt').placeholder = chat ? 'Ask something' : 'Begin a text; the model goes on';
  show('chat');
  void showStatus();
  $('prompt').focus();
}

function addMessage(role, text) {
  const element = Object.assign(document.createElement('p'), { className: role, textContent: text });
  $('messages').append(element);
  element.scrollIntoView({ block: 'end' });
  return element;
}

async function answer(text) {
  showError(null);
  answering = new AbortController();
  const { signal } = answering;
  $('send').hidden = true;
  $('stop').hidden = false;
  addMessage('user', text);
  messages.push({ role: 'user', content: text });
  const element = addMessage('assistant', '');
  let said = '';
  let timings = null;
  const speed = { pieces: 0, since: 0, shown: 0 };
  try {
    const chunks = engine.info.chat ? engine.chat({ messages, max_tokens: 1024 }, { signal }) : engine.complete({ prompt: text, max_tokens: 256 }, { signal });
    for await (const chunk of chunks) {
      const choice = chunk.choices[0];
      const { content = choice?.text, reasoning_content: thinking } = choice?.delta ?? {};
      if (thinking) thinkingOf(element).textContent += thinking;
      if (content) {
        said += content;
        element.append(content);
        if (nearEnd()) element.scrollIntoView({ block: 'end' });
      }
      timings = chunk.timings ?? measured(speed);
    }
  } catch (error) {
    if (error.code !== 'aborted') showError(error);
  }
  if (said) messages.push({ role: 'assistant', content: said });
  else messages.pop();
  answering = null;
  $('send').hidden = false;
  $('stop').hidden = true;
  await showStatus(timings);
}

// Tokens per second so far, until the last chunk says it; shown twice a second. The first token counts to the prompt.
function measured(speed) {
  const now = performance.now();
  speed.since ||= now;
  const passed = now - speed.since;
  const timings = passed > 0 ? { predicted_per_second: (speed.pieces * 1000) / passed } : null;
  ++speed.pieces;
  if (timings && now - speed.shown > 500) {
    speed.shown = now;
    void showStatus(timings);
  }
  return timings;
}

function thinkingOf(element) {
  return element.querySelector('.thinking') ?? element.appendChild(Object.assign(document.createElement('span'), { className: 'thinking' }));
}

const nearEnd = () => innerHeight + scrollY > document.documentElement.scrollHeight - 200;

async function showStatus(timings = null) {
  const memory = await engine?.memory().catch(() => null);
  if (!memory) return;
  const parts = [];
  if (timings?.predicted_per_second) parts.push(`${timings.predicted_per_second.toFixed(1)} tokens/s`);
  if (timings?.prompt_per_second) parts.push(`prompt ${timings.prompt_per_second.toFixed(0)} tokens/s`);
  const total = memory.weights_bytes + memory.kv_bytes + memory.arena_bytes + memory.staging_bytes;
  parts.push(`${bytes(total)} on the ${engine.info.device.type === 'gpu' ? 'GPU' : 'CPU'} (weights ${bytes(memory.weights_bytes)}, cache ${bytes(memory.kv_bytes)})`);
  parts.push(`heap ${bytes(memory.heap_bytes)}`, `loaded in ${(engine.info.load_ms / 1000).toFixed(1)} s`);
  $('status').textContent = parts.join(' · ');
}

// -- The page

function show(part) {
  for (const id of ['pick', 'loading', 'chat']) $(id).hidden = id !== part;
  $('unload').hidden = part !== 'chat';
}

function showError(error) {
  $('error').hidden = !error;
  $('error').textContent = error ? `${error.message}${error.code ? ` (${error.code})` : ''}` : '';
  if (error) $('error').scrollIntoView({ block: 'nearest' });
}

$('other').onsubmit = (event) => {
  event.preventDefault();
  const address = $('address').value.trim();
  if (address) void load(address);
};
$('file').onchange = ({ target }) => void (target.files[0] && load(target.files[0]));
$('cancel').onclick = () => loading?.abort();
$('stop').onclick = () => answering?.abort();
$('composer').onsubmit = (event) => {
  event.preventDefault();
  const text = $('prompt').value.trim();
  if (!text || answering) return;
  $('prompt').value = '';
  void answer(text);
};
$('prompt').onkeydown = (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $('composer').requestSubmit();
};
$('unload').onclick = async () => {
  answering?.abort();
  await engine.close();
  engine = null;
  $('device').textContent = 'A language model in this page. Nothing you type leaves it.';
  $('status').textContent = '';
  show('pick');
  await showModels();
};

// A file or a folder, dropped anywhere on the page.
addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('over');
});
addEventListener('dragleave', () => document.body.classList.remove('over'));
addEventListener('drop', async (event) => {
  event.preventDefault();
  document.body.classList.remove('over');
  const item = event.dataTransfer.items[0];
  const handle = await item?.getAsFileSystemHandle?.();
  const source = handle ?? event.dataTransfer.files[0];
  if (source && !engine) void load(source);
});

await showModels();
const wanted = new URLSearchParams(location.search).get('model');
if (wanted) void load(wanted);
// From now on the page opens without a network.
Puna.serviceWorker('service_worker.js')
  .then((link) => link.keepOffline())
  .then(() => (document.documentElement.dataset.offline = 'ready'))
  .catch((error) => console.warn(error.message));
