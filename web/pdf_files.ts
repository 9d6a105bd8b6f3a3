// Puts beside the page, in pdf/, what pdf.js reads when a file asks for it: the fonts that every PDF may take for granted, the tables of
// characters of East Asian fonts, and the decoders of images. A page without these would show such files with gaps.
import fs from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vite';

// Decoders in JavaScript are for browsers without WebAssembly, and scripts inside of PDFs are not run.
const folders: Readonly<Record<string, RegExp>> = {
  cmaps: /\.bcmap$/,
  standard_fonts: /\.(pfb|ttf)$/,
  wasm: /^(jbig2|openjpeg|qcms_bg)\.wasm$/,
};
const licence = /^LICENSE/;

const home = (root: string) => path.join(root, 'node_modules/pdfjs-dist');

/** Of what is put there, the texts of the licences: [name, text]. */
export function pdfLicences(root: string): [string, string][] {
  return Object.keys(folders).flatMap((folder) =>
    fs
      .readdirSync(path.join(home(root), folder))
      .filter((name) => licence.test(name) && !/QUICKJS/.test(name))
      .sort()
      .map((name): [string, string] => [`pdf/${folder} (${name})`, fs.readFileSync(path.join(home(root), folder, name), 'utf8').trim()]),
  );
}

export function pdfFiles(): Plugin {
  let root = '.';
  return {
    name: 'puna-pdf-files',
    configResolved: (config) => void (root = config.root),
    applyToEnvironment: (environment) => environment.name === 'client',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const [, folder = '', name = ''] = /^\/pdf\/(\w+)\/([\w.-]+)$/.exec(request.url ?? '') ?? [];
        if (!folders[folder]?.test(name)) return next();
        response.end(fs.readFileSync(path.join(home(root), folder, name)));
      });
    },
    generateBundle() {
      for (const [folder, wanted] of Object.entries(folders)) {
        for (const name of fs.readdirSync(path.join(home(root), folder)).filter((each) => wanted.test(each)))
          this.emitFile({ type: 'asset', fileName: `pdf/${folder}/${name}`, source: fs.readFileSync(path.join(home(root), folder, name)) });
      }
    },
  };
}
