// The engines that compare.mjs takes turns with: Puna first, then those whose package is named on the command line. A file of engines/ has
//   folders(options)    what the server has of it: prefixes of addresses and their folders
//   packages(options)   folders of npm packages whose versions are noted
//   fetched(options)    addresses of what a page fetches of the engine
//   model(options)      the address of the weights, where these are not the GGUF file
//   open()              in the page: an engine with load(options), which gives what it says of itself, and run(prompt, n, onPiece), which writes n tokens,
//                       the likeliest each, calls onPiece for each and gives {prompt_tokens, tokens, text}; behind the runs check(prompt), which gives
//                       {device} ('gpu' or 'cpu', where they were computed) and, where the engine gives them, {logits} (rangeOf the prompt's last ones)
import * as puna from './engines/puna.js';
import * as transformersjs from './engines/transformersjs.js';
import * as wllama from './engines/wllama.js';

// Which options each needs; those of the command line are named so.
const kEngines = [
  { name: 'puna', engine: puna, needs: [] },
  { name: 'wllama', engine: wllama, needs: ['wllama'] },
  { name: 'transformersjs', engine: transformersjs, needs: ['transformersjs', 'onnx'] },
];

// The engines of a command line, by name. An Error where one of the options that an engine needs is given and another is not.
export function enginesOf(options) {
  const engines = {};
  for (const { name, engine, needs } of kEngines) {
    const missing = needs.filter((option) => !options[option]);
    if (missing.length === 0) engines[name] = engine;
    else if (missing.length < needs.length) return new Error(`${name} needs ${missing.map((option) => `--${option}`).join(' and ')} too.`);
  }
  return engines;
}

export const peerOptions = Object.fromEntries(kEngines.flatMap(({ needs }) => needs).map((name) => [name, { type: 'string' }]));
