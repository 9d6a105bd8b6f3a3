import { sveltekit } from '@sveltejs/kit/vite';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';
import { fonts } from './fonts.ts';
import { licences } from './licences.ts';
import { pdfFiles } from './pdf_files.ts';
import { policy } from './policy.ts';
import { relocatable } from './relocatable.ts';

export default defineConfig({
  plugins: [
    fonts(),
    tailwindcss(),
    sveltekit({
      adapter: relocatable('build'),
      // Addresses behind a # need no rules on the host: the page works from any folder of any static server.
      router: { type: 'hash' },
      paths: { relative: true },
      // A fixed name, so that equal sources give equal bytes.
      version: { name: '0.1.0' },
      serviceWorker: { register: false },
      csp: { mode: 'hash', directives: policy },
    }),
    pdfFiles(),
    licences(),
  ],
  // Files stay files: fonts as data: addresses would need a looser policy.
  build: { target: 'es2022', cssMinify: 'lightningcss', assetsInlineLimit: 0 },
  server: { proxy: Object.fromEntries(['/v1', '/api', '/props', '/models', '/slots', '/health', '/tokenize', '/apply-template', '/web-store'].map((path) => [path, 'http://127.0.0.1:8080'])) },
});
