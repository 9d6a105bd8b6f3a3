// Errors of the package as faults of the page.
import type { FaultKind } from '../../types/conversation.ts';
import { EngineError } from '../../types/engine.ts';

const KINDS: Record<string, FaultKind> = {
  invalid_argument: 'refused',
  unsupported: 'refused',
  not_found: 'model',
  http: 'model',
  network: 'network',
  corrupt: 'model',
  changed: 'model',
  quota: 'model',
  storage: 'model',
  in_use: 'model',
  out_of_memory: 'model',
};

// Of src/engine/engine.cpp; the package hands errors on as a code and a sentence.
const TOO_LONG = /has (\d+) tokens?, but .*?(\d+)/;

// Aborts stay what they are.
export function tabError(error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === 'aborted' || (error as Error).name === 'AbortError' || error instanceof EngineError) return error;
  const text = typeof message === 'string' ? message : String(error);
  const excess = TOO_LONG.exec(text);
  if (excess && /context/.test(text)) {
    return new EngineError({
      kind: 'context',
      message: text,
      promptTokens: Number(excess[1]),
      contextTokens: Number(excess[2]),
    });
  }
  return new EngineError({ kind: KINDS[String(code)] ?? 'engine', message: text });
}
