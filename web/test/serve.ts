// Serves the built page and hands what is no file of it to a server of models, as one address: what `puna serve` does with the page
// embedded. `node test/serve.ts BUILD API` prints the address; it ends with its standard input.
import { readFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import type { AddressInfo } from 'node:net';

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.wasm': 'application/wasm',
};

function forward(api: string, incoming: IncomingMessage, outgoing: ServerResponse) {
  const target = new URL(incoming.url!, api);
  const { origin: _origin, ...headers } = incoming.headers;
  const asked = request(target, { method: incoming.method, headers: { ...headers, host: target.host } }, (answer) => {
    outgoing.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(outgoing);
  });
  asked.on('error', () => outgoing.destroy());
  outgoing.on('close', () => asked.destroy());
  incoming.pipe(asked);
}

export async function serve(build: string, api: string | undefined): Promise<{ address: string; close: () => void; away: (on: boolean) => void }> {
  let isAway = false;
  const server = createServer(async (incoming, outgoing) => {
    const path = new URL(incoming.url!, 'http://x').pathname;
    const name = path === '/' ? 'index.html' : normalize(decodeURIComponent(path)).replace(/^(\.\.[/\\])+/, '');
    if (incoming.method === 'GET') {
      try {
        const bytes = await readFile(join(build, name));
        outgoing.writeHead(200, {
          'Content-Type': types[extname(name)] ?? 'application/octet-stream',
          'Cross-Origin-Opener-Policy': 'same-origin',
          'Cross-Origin-Embedder-Policy': 'require-corp',
          'Cross-Origin-Resource-Policy': 'same-origin',
        });
        outgoing.end(bytes);
        return;
      } catch {
        // No file of the page.
      }
    }
    if (isAway) outgoing.destroy();
    else if (api) forward(api, incoming, outgoing);
    else outgoing.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => (server.close(), server.closeAllConnections()),
    away: (on) => (isAway = on),
  };
}

if (process.argv[1] === import.meta.filename) {
  const { address } = await serve(process.argv[2]!, process.argv[3]);
  console.log(address);
  process.stdin.on('end', () => process.exit()).resume();
}
