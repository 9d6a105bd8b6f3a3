// Requests of /v1/* as calls to an engine, and its answers as OpenAI's responses.
import { collectChat, collectCompletion } from '../collect.js';
import { type ErrorCode, PunaError, toPunaError } from '../errors.js';
import type { ChatChunk, CompletionChunk } from '../openai_types.js';
import type { RpcClient } from '../rpc/client.js';

export interface RemoteEngine {
  model: string;
  calls: Pick<RpcClient, 'call' | 'stream'>;
}

type Endpoint = (engine: RemoteEngine, request: Request) => Promise<Response>;

const endpoints: Record<string, { method: string; answer: Endpoint }> = {
  'v1/chat/completions': { method: 'POST', answer: (engine, request) => generate<ChatChunk>(engine, request, 'chat', collectChat) },
  'v1/completions': { method: 'POST', answer: (engine, request) => generate<CompletionChunk>(engine, request, 'complete', collectCompletion) },
  'v1/embeddings': { method: 'POST', answer: async ({ calls }, request) => json(200, await calls.call('embed', await body(request), { signal: request.signal })) },
  'v1/models': {
    method: 'GET',
    answer: async ({ model }) => json(200, { object: 'list', data: [{ id: model, object: 'model', created: 0, owned_by: 'puna' }] }),
  },
};

const kStatus: Partial<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  not_found: 404,
  unsupported: 501,
  aborted: 499,
  closed: 503,
  gpu_lost: 503,
};

// `path` is relative to the scope of the service worker; null when it is not for the engine.
export function isForEngine(path: string): boolean {
  return path.startsWith('v1/');
}

export async function answer(path: string, request: Request, findEngine: () => Promise<RemoteEngine | null>): Promise<Response> {
  try {
    const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path]! : null;
    if (!endpoint) return failure(404, 'not_found_error', `There is no /${path}; there are ${Object.keys(endpoints).map((each) => `/${each}`).join(', ')}.`);
    if (request.method !== endpoint.method) return failure(405, 'invalid_request_error', `/${path} takes ${endpoint.method}, not ${request.method}.`);
    const engine = await findEngine();
    if (!engine) return failure(503, 'unavailable_error', 'No open page of this site has loaded a model; load one and try again.');
    return await endpoint.answer(engine, request);
  } catch (error) {
    return errorResponse(error);
  }
}

async function generate<Chunk>(
  { calls }: RemoteEngine,
  request: Request,
  method: string,
  collect: (chunks: AsyncIterable<Chunk>) => Promise<object>,
): Promise<Response> {
  const { stream, ...params } = await body(request);
  const chunks = calls.stream<Chunk>(method, params, { signal: request.signal });
  if (!stream) return json(200, await collect(chunks));
  const first = await chunks.next(); // what is wrong with the request is said by the status
  return new Response(events(first, chunks), { headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' } });
}

function events<Chunk>(first: IteratorResult<Chunk, void>, chunks: AsyncGenerator<Chunk, void, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next: IteratorResult<Chunk, void> | null = first;
  return new ReadableStream({
    async pull(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(`data: ${text}\n\n`));
      try {
        const { done, value } = next ?? (await chunks.next());
        next = null;
        if (!done) return send(JSON.stringify(value));
        send('[DONE]');
      } catch (error) {
        const { code, message } = toPunaError(error);
        send(JSON.stringify({ error: { message, type: 'server_error', code } }));
      }
      controller.close();
    },
    async cancel() {
      await chunks.return();
    },
  });
}

async function body(request: Request): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = await request.json();
  } catch (error) {
    throw new PunaError('invalid_argument', `The body of the request is not JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new PunaError('invalid_argument', 'The body of the request is not a JSON object.');
}

function errorResponse(error: unknown): Response {
  const { code, message } = toPunaError(error);
  const status = kStatus[code] ?? 500;
  return failure(status, status === 400 ? 'invalid_request_error' : 'server_error', message, code);
}

const failure = (status: number, type: string, message: string, code: string | number = status): Response => json(status, { error: { message, type, code } });

const json = (status: number, value: unknown): Response => Response.json(value, { status });
