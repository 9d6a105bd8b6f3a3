// Writes licences.txt beside the page: the licences of all that the built files contain parts of. A package whose licence is not in the
// table below ends the build: somebody has to read it first.
import fs from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vite';
import { pdfLicences } from './pdf_files.ts';

// All allow what is done here: copies, with the text of the licence beside them.
const known = new Set(['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'OFL-1.1', 'CC0-1.0', 'Unlicense', 'BlueOak-1.0.0', 'Zlib']);
const texts = /^(licen[cs]e|copying|notice)/i;

/** Whether a licence expression ("(MIT OR GPL-3.0)") can be kept to with the known ones. */
export function isKnown(expression: string): boolean {
  const alternatives = expression.replace(/[()]/g, '').split(/\s+OR\s+/);
  return alternatives.some((each) => each.split(/\s+AND\s+/).every((name) => known.has(name.trim())));
}

/** The folder of the package that a module belongs to; none: it is the page's own. */
export function packageOf(file: string): string | undefined {
  return /^([^\0]*\/node_modules\/(?:@[^/]+\/)?[^/@][^/]*)\//.exec(file.replaceAll('\\', '/'))?.[1];
}

/** What a licence is called that package.json does not name, by its first line; none: nothing that is known. */
export function nameOfText(text: string): string | undefined {
  return /^\W*(?:The )?(MIT|ISC) Licen[cs]e\b/i.exec(text)?.[1]?.toUpperCase();
}

function describe(folder: string): string {
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  const files = fs.readdirSync(folder).filter((file) => texts.test(file)).sort();
  const found = files.map((file) => fs.readFileSync(path.join(folder, file), 'utf8').trim());
  const named = license ?? nameOfText(found[0] ?? '') ?? '';
  if (!isKnown(named)) throw new Error(`The licence of ${name} ${version} is "${named}", which web/licences.ts does not know.`);
  return [`${name} ${version} (${named})`, ...found].join('\n\n');
}

/** What a style sheet imports of packages: it is put in its place before there are modules. */
function imported(sheet: string): string[] {
  return [...fs.readFileSync(sheet, 'utf8').matchAll(/@import\s+["']([^."'/][^"']*)["']/g)].map((match) => `node_modules/${match[1]}/package.json`);
}

export function licences(): Plugin {
  let root = '.';
  const sheets = new Set<string>();
  return {
    name: 'puna-licences',
    apply: 'build',
    configResolved: (config) => void (root = config.root),
    applyToEnvironment: (environment) => environment.name === 'client',
    transform: { filter: { id: /\.css(\?|$)/ }, handler: (_code, id) => void sheets.add(id.replace(/\?.*/, '')) },
    generateBundle(_options, bundle) {
      const files = Object.values(bundle).flatMap((each) => (each.type === 'chunk' ? Object.keys(each.modules) : each.originalFileNames));
      files.push(...sheets, ...[...sheets].filter((sheet) => fs.existsSync(sheet)).flatMap(imported));
      const folders = new Set(files.map((file) => packageOf(path.resolve(root, file))).filter((folder) => folder !== undefined));
      const parts = [...folders].sort().map(describe);
      parts.push(...pdfLicences(root).map(([name, text]) => `${name}\n\n${text}`));
      const engine = path.join(root, 'static/puna/THIRD_PARTY.txt');
      if (fs.existsSync(engine)) parts.push(`Of the engine (puna/):\n\n${fs.readFileSync(engine, 'utf8').trim()}`);
      const own = fs.readFileSync(path.join(root, '../LICENSE'), 'utf8').trim();
      const source = [`The web page of Puna\n\n${own}`, ...parts].join(`\n\n${'-'.repeat(80)}\n\n`);
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: `${source}\n` });
    },
  };
}
