// A registry of models as Ollama's, as far as `puna serve` asks one: user/slow, whose weights come slowly and never whole.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const bytes = 64 * 2 ** 20;
const config = JSON.stringify({ model_format: 'gguf', model_family: 'llama', model_families: ['llama'], model_type: '1B', file_type: 'Q4_K_M' });
const digest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
const manifest = {
  schemaVersion: 2,
  mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
  config: { mediaType: 'application/vnd.docker.container.image.v1+json', digest, size: config.length },
  layers: [{ mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${'ab'.repeat(32)}`, size: bytes }],
};

export interface Hub {
  // user/slow, as one asks for it.
  name: string;
  // Downloads that are under way, and how many there have been.
  open: number;
  begun: number;
  end: () => void;
}

export async function slowHub(): Promise<Hub> {
  const server = createServer((request, response) => {
    if (request.url === '/v2/user/slow/manifests/latest') return void response.end(JSON.stringify(manifest));
    if (request.url === `/v2/user/slow/blobs/${digest}`) return void response.end(config);
    if (!request.url?.startsWith('/v2/user/slow/blobs/')) return void response.writeHead(404).end();
    const [from, to] = (/bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? ['', '0', '']).slice(1).map((one) => (one === '' ? bytes - 1 : Number(one))) as [number, number];
    const range = request.headers.range ? { 'content-range': `bytes ${from}-${to}/${bytes}` } : {};
    response.writeHead(request.headers.range ? 206 : 200, { 'content-length': to - from + 1, 'accept-ranges': 'bytes', etag: '"one"', ...range });
    if (request.method === 'HEAD') return void response.end();
    hub.open++;
    hub.begun++;
    // So slow that the whole would take hours.
    const timer = setInterval(() => response.write(Buffer.alloc(256)), 50);
    response.on('close', () => {
      clearInterval(timer);
      hub.open--;
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const name = `127.0.0.1:${(server.address() as AddressInfo).port}/user/slow`;
  const hub: Hub = { name, open: 0, begun: 0, end: () => (server.close(), server.closeAllConnections()) };
  return hub;
}
