// Serves the built page and hands what is no file of it to a server of models, as one address: what `puna serve` does with the page
// embedded. `node test/serve.ts BUILD API` prints the address; it ends with its standard input.
import { readFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

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

// What the way between the page and the server of models is like. Files of the page come always.
export interface Weather {
  // Nothing gets through.
  away: boolean;
  // Streams come with so many bytes a second; 0: as fast as they can.
  pace: number;
  // Behind so many bytes of a stream nothing more comes until this is changed: an answer is under way for as long as a test wants.
  brake: number | undefined;
  // Behind so many bytes the connection of a stream is cut, asked anew for each; undefined: not at all.
  cut: () => number | undefined;
  // Requests for this path wait for the promise.
  late: { path: string; until: Promise<void> } | undefined;
}
export const fair = (): Weather => ({ away: false, pace: 0, brake: undefined, cut: () => undefined, late: undefined });

async function pour(answer: IncomingMessage, outgoing: ServerResponse, weather: Weather) {
  let left = weather.cut() ?? Infinity;
  let sent = 0;
  const room = () => (weather.brake ?? Infinity) - sent;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; ) {
      while (room() <= 0 && !outgoing.destroyed) await sleep(20);
      const piece = chunk.subarray(at, at + Math.min(left, Math.max(room(), 1), weather.pace ? 40 : chunk.length));
      // What was written has to arrive: the cut is behind it.
      await new Promise((done) => outgoing.write(piece, done));
      at += piece.length;
      left -= piece.length;
      sent += piece.length;
      if (left <= 0 || outgoing.destroyed) return void outgoing.destroy();
      if (weather.pace) await sleep((1_000 * piece.length) / weather.pace);
    }
  }
  outgoing.end();
}

function forward(api: string, incoming: IncomingMessage, outgoing: ServerResponse, weather: Weather) {
  const target = new URL(incoming.url!, api);
  const { origin: _origin, ...headers } = incoming.headers;
  const asked = request(target, { method: incoming.method, headers: { ...headers, host: target.host } }, (answer) => {
    outgoing.writeHead(answer.statusCode!, answer.headers);
    if (!answer.headers['content-type']?.startsWith('text/event-stream')) return void answer.pipe(outgoing);
    pour(answer, outgoing, weather).catch(() => outgoing.destroy());
  });
  asked.on('error', () => outgoing.destroy());
  outgoing.on('close', () => asked.destroy());
  incoming.pipe(asked);
}

export async function serve(build: string, api: string | undefined, weather = fair()): Promise<{ address: string; sever: () => void; close: () => void }> {
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
    if (weather.late?.path === path) await weather.late.until;
    if (weather.away) outgoing.destroy();
    else if (api) forward(api, incoming, outgoing, weather);
    else outgoing.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    // What is under way ends where it is; held bytes are lost.
    sever: () => server.closeAllConnections(),
    close: () => (server.close(), server.closeAllConnections()),
  };
}

if (process.argv[1] === import.meta.filename) {
  const { address } = await serve(process.argv[2]!, process.argv[3]);
  console.log(address);
  process.stdin.on('end', () => process.exit()).resume();
}
