// Models that the server fetches: what has come of each, and how to end it. What has come stays with the server.
import { EngineError } from '../../types/engine.ts';
import { ok, type ServerAddress } from './connection.ts';
import { faultOf, isAbort, lost } from './faults.ts';

export interface Progress {
  doneBytes: number;
  totalBytes: number;
}

interface Line {
  status?: string;
  digest?: string;
  total?: number;
  completed?: number;
  error?: unknown;
}

// Resolves when the model is there. Throws EngineError, and the signal's reason: then the server stops too.
export async function pull(
  server: ServerAddress,
  model: string,
  progress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await ok(server, 'api/pull', { method: 'POST', body: { model, stream: true }, signal });
  const parts = new Map<string, Progress>();
  let success = false;
  try {
    for await (const line of lines(response)) {
      if (line.error !== undefined) throw new EngineError({ ...faultOf(500, line), kind: 'model' });
      success ||= line.status === 'success';
      if (line.digest === undefined || !line.total) continue;
      parts.set(line.digest, { doneBytes: line.completed ?? 0, totalBytes: line.total });
      progress(sum([...parts.values()]));
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof EngineError || isAbort(error)
      ? error
      : lost('The connection to the server was cut during the download.');
  }
  if (!success) throw lost('The connection to the server was cut during the download.');
}

function sum(parts: Progress[]): Progress {
  return {
    doneBytes: parts.reduce((total, part) => total + part.doneBytes, 0),
    totalBytes: parts.reduce((total, part) => total + part.totalBytes, 0),
  };
}

async function* lines(response: Response): AsyncGenerator<Line> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (value) rest += value;
    const whole = rest.split('\n');
    rest = done ? '' : (whole.pop() ?? '');
    for (const line of whole) {
      if (line.trim() !== '') yield JSON.parse(line) as Line;
    }
    if (done) return;
  }
}
