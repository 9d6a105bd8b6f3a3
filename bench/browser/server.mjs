// The file server of the browser benchmarks: folders and files under addresses, Range requests, cross-origin isolation (without it a page
// has one thread and coarse clocks), and handlers for what is no file.
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';

const kTypes = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const kIsolation = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

// `folders` maps prefixes (with a slash at the end) to folders, `files` addresses to files, `handlers` addresses to functions of a request
// and its response. With `tls`, {cert, key} of PEM texts, over https. Gives {origin, port, close()}.
export async function startServer({ folders = {}, files = {}, handlers = {}, host = '127.0.0.1', port = 0, tls = null }) {
  const answer = (request, response) => {
    for (const [name, value] of Object.entries(kIsolation)) response.setHeader(name, value);
    const address = pathOf(request.url);
    const handler = handlers[address];
    if (handler) return handler(request, response);
    const file = files[address] ?? fileIn(folders, address);
    const stat = file && fs.statSync(file, { throwIfNoEntry: false });
    if (!stat?.isFile()) return response.writeHead(404).end();
    sendFile(file, stat, request, response);
  };
  const server = tls ? https.createServer(tls, answer) : http.createServer(answer);
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const used = server.address().port;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: used, origin: `${tls ? 'https' : 'http'}://127.0.0.1:${used}`, close };
}

function pathOf(url) {
  try {
    return decodeURIComponent(new URL(url, 'http://server').pathname);
  } catch {
    return '';
  }
}

function fileIn(folders, address) {
  const prefix = Object.keys(folders)
    .filter((p) => address.startsWith(p))
    .sort((a, b) => b.length - a.length)[0];
  if (!prefix) return null;
  const folder = path.resolve(folders[prefix]);
  const file = path.join(folder, address.slice(prefix.length) || 'index.html');
  return file.startsWith(folder + path.sep) ? file : null;
}

function sendFile(file, stat, request, response) {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = range ? Number(range[1]) : 0;
  const end = range && range[2] !== '' ? Math.min(Number(range[2]) + 1, stat.size) : stat.size;
  if (range && start >= end) return response.writeHead(416, { 'Content-Range': `bytes */${stat.size}` }).end();
  response.writeHead(range ? 206 : 200, {
    'Content-Type': kTypes[path.extname(file)] ?? 'application/octet-stream',
    'Content-Length': end - start,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'no-cache',
    ETag: `"${stat.size}-${Math.trunc(stat.mtimeMs)}"`,
    ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${stat.size}` }),
  });
  if (request.method === 'HEAD' || start === end) return response.end();
  fs.createReadStream(file, { start, end: end - 1, highWaterMark: 1 << 20 }).pipe(response);
}
