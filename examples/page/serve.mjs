// Serves this page with the package built in bindings/js/dist:  node examples/page/serve.mjs [PORT] [FOLDER of models]
// The two headers make the page cross-origin isolated, so that the CPU device can use threads; it works without them too.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(here, '../../bindings/js/dist');
const [port = '8080', models] = process.argv.slice(2);
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

// The file of an address; the service worker has to lie beside the page that it serves.
function fileOf(pathname) {
  if (pathname === '/') return path.join(here, 'index.html');
  if (pathname === '/service_worker.js') return path.join(dist, 'service_worker.js');
  const [folder, rest] = pathname.startsWith('/puna/') ? [dist, pathname.slice(6)] : pathname.startsWith('/models/') && models ? [path.resolve(models), pathname.slice(8)] : [here, pathname.slice(1)];
  const file = path.join(folder, rest);
  return file.startsWith(folder + path.sep) ? file : null;
}

const server = http.createServer((request, response) => {
  const file = fileOf(decodeURIComponent(new URL(request.url, 'http://page').pathname));
  const stat = file && fs.statSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile()) return response.writeHead(404).end();
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = range ? Number(range[1]) : 0;
  const end = range && range[2] !== '' ? Math.min(Number(range[2]) + 1, stat.size) : stat.size;
  if (start >= end) return response.writeHead(416, { 'Content-Range': `bytes */${stat.size}` }).end();
  response.writeHead(range ? 206 : 200, {
    'Content-Type': types[path.extname(file)] ?? 'application/octet-stream',
    'Content-Length': end - start,
    ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${stat.size}` }),
    'Last-Modified': stat.mtime.toUTCString(),
    'Cache-Control': 'no-cache',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  });
  fs.createReadStream(file, { start, end: end - 1 }).pipe(response);
});
server.listen(Number(port), '127.0.0.1', () => console.log(`http://localhost:${server.address().port}/`));
