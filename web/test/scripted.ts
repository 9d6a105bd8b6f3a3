// A server of one model whose answers a test writes: for what no model does at a wish, as much text at once or at a given pace. It keeps no
// streams, and its requests are only looked at where a test asks for that.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Scripted {
  api: string;
  // The models that were asked for answers.
  asked: string[];
  // To the answer that was asked for last: a piece of it, and its end.
  say: (text: string) => void;
  finish: () => void;
  end: () => void;
}

// `more`: what is answered at other paths, or instead.
export async function scripted(id: string, more: Record<string, object> = {}): Promise<Scripted> {
  const asked: string[] = [];
  let answer: ServerResponse | undefined;
  const told: Record<string, object> = {
    '/props': { default_generation_settings: { n_ctx: 1_000_000, params: {} }, chat_template_caps: {} },
    '/v1/models': { object: 'list', data: [{ id }] },
    ...more,
  };
  const write = (choice: object) => answer!.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
  const server = createServer(async (request, response) => {
    const path = new URL(request.url!, 'http://x').pathname;
    if (path === '/v1/chat/completions') {
      let body = '';
      for await (const piece of request) body += piece as string;
      asked.push((JSON.parse(body) as { model: string }).model);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      answer = response;
    } else if (told[path]) response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(told[path]));
    else response.writeHead(404, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error: { code: 404, message: 'There is no such route.' } }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    api: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    say: (content) => void write({ delta: { content }, finish_reason: null }),
    finish: () => {
      write({ delta: {}, finish_reason: 'stop' });
      answer!.end('data: [DONE]\n\n');
    },
    end: () => (server.close(), server.closeAllConnections()),
  };
}
