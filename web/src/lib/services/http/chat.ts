// An answer of the server's, as a stream that it keeps under the id of the message.
import type { AnswerRequest, EngineEvent } from '../../types/engine.ts';
import { chatBody } from './body.ts';
import { send, type ServerAddress } from './connection.ts';
import { readStream } from './stream.ts';

// `isLoading`: whether the server answers and the model is on its way, which may take longer than silence may.
export function chat(
  server: ServerAddress,
  request: AnswerRequest,
  signal: AbortSignal,
  isLoading: () => Promise<boolean>,
): AsyncGenerator<EngineEvent> {
  const body = {
    ...chatBody(request),
    model: request.model,
    stream: true,
    return_progress: true,
    stream_options: { include_usage: true },
  };
  const headers = { 'X-Conversation-Id': request.streamId };
  const ask = (inner: AbortSignal) =>
    send(server, 'v1/chat/completions', { method: 'POST', body, headers, signal: inner });
  return readStream(ask, { from: 0, signal, patient: isLoading });
}
