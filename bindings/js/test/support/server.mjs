// A file server that misbehaves on demand. `files` maps a path to what is served and how:
//   bytes        Uint8Array
//   etag, lastModified   validators; null: none
//   ranges       false: no Range support
//   length       false: no Content-Length (chunked)
//   cutAfter     bytes after which each connection is destroyed, `cutWait` ms later; with `cuts`, so many times only
//   status       answer with this status and `retryAfter`, `times` times
//   delay        ms between pieces of 256 KiB
//   wrongRange   answer 206 with a range that was not asked for
//   onRequest    called with the request's headers; may change the entry
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const kPiece = 256 << 10;
const kTypes = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json', '.svg': 'image/svg+xml' };

export async function startServer({ folders = {}, headers = {}, port = 0 } = {}) {
  const files = new Map();
  const log = []; // {path, range, status, bytes}
  const sockets = new Set();
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://server');
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const file = files.get(url.pathname);
    if (file) return void serveFile(file, request, response, log).catch(() => response.destroy());
    serveFolder(folders, url.pathname, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () => {
    sockets.forEach((socket) => socket.destroy());
    return new Promise((resolve) => server.close(resolve));
  };
  return { files, log, stop, port: server.address().port, origin: `http://127.0.0.1:${server.address().port}` };
}

async function serveFile(file, request, response, log) {
  const entry = { path: request.url, range: request.headers.range ?? null, ifRange: request.headers['if-range'] ?? null, status: 200, bytes: 0 };
  log.push(entry);
  file.onRequest?.(request.headers, file);
  const { bytes, etag = '"one"', lastModified = null, ranges = true, length = true } = file;
  if (file.status && (file.times ?? Infinity) > 0) {
    file.times = (file.times ?? Infinity) - 1;
    entry.status = file.status;
    if (file.retryAfter !== undefined) response.setHeader('Retry-After', String(file.retryAfter));
    response.writeHead(file.status);
    return response.end();
  }
  if (file.cors) response.setHeader('Access-Control-Allow-Origin', '*');
  if (file.cors === 'exposed') response.setHeader('Access-Control-Expose-Headers', 'Content-Range, ETag');
  if (etag !== null) response.setHeader('ETag', etag);
  if (lastModified !== null) response.setHeader('Last-Modified', lastModified);
  let [start, end] = [0, bytes.length];
  const range = ranges ? /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') : null;
  const current = entry.ifRange === null || entry.ifRange === etag || entry.ifRange === lastModified;
  if (range && current) {
    start = Number(range[1]);
    end = range[2] === '' ? bytes.length : Math.min(Number(range[2]) + 1, bytes.length);
    if (start >= bytes.length) {
      entry.status = 416;
      response.setHeader('Content-Range', `bytes */${bytes.length}`);
      response.writeHead(416);
      return response.end();
    }
    if (file.wrongRange) start = Math.max(0, start - 1);
    response.setHeader('Content-Range', `bytes ${start}-${end - 1}/${bytes.length}`);
    entry.status = 206;
  }
  if (length) response.setHeader('Content-Length', end - start);
  response.setHeader('Content-Type', 'application/octet-stream');
  response.writeHead(entry.status);
  for (let at = start; at < end; at += kPiece) {
    const piece = bytes.subarray(at, Math.min(at + kPiece, end));
    if (entry.bytes + piece.length > (file.cutAfter ?? Infinity) && (file.cuts ?? Infinity) > 0) {
      file.cuts = (file.cuts ?? Infinity) - 1;
      await new Promise((resolve) => response.write(bytes.subarray(at, at + (file.cutAfter - entry.bytes)), resolve));
      await new Promise((resolve) => setTimeout(resolve, file.cutWait ?? 0));
      return response.destroy();
    }
    if (response.destroyed) return;
    await new Promise((resolve) => response.write(piece, resolve));
    entry.bytes += piece.length;
    if (file.delay) await new Promise((resolve) => setTimeout(resolve, file.delay));
  }
  response.end();
}

// `folders` maps a prefix of the path to a folder of this machine, or a path to a file.
function serveFolder(folders, pathname, response) {
  const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
  for (const [prefix, folder] of Object.entries(folders)) {
    if (!name.startsWith(prefix)) continue;
    const file = name === prefix ? folder : path.join(folder, path.normalize(name.slice(prefix.length)));
    if (!file.startsWith(folder) || !fs.existsSync(file) || !fs.statSync(file).isFile()) continue;
    response.setHeader('Content-Type', kTypes[path.extname(file)] ?? 'application/octet-stream');
    return response.end(fs.readFileSync(file));
  }
  response.writeHead(404);
  response.end(`There is no ${pathname}.`);
}

// Bytes that look like nothing else, the same for the same seed.
export function madeUpBytes(n, seed = 1) {
  const words = new Uint32Array(Math.ceil(n / 4));
  let x = seed >>> 0 || 1;
  for (let i = 0; i < words.length; ++i) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    words[i] = x;
  }
  return new Uint8Array(words.buffer, 0, n);
}
