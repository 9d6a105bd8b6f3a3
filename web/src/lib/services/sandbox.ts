// The sandbox: a page of ours (static/sandbox/) in a frame without an origin, without network and storage, which hears
// and says messages only. Whatever comes from it is somebody else's text.
import { ToolError } from './tools/tool.ts';

const PAGE = './sandbox/index.html';
const MAX_RUN_MS = 10_000;
// For the frame itself, which is a file of the page.
const MAX_LOAD_MS = 30_000;

interface Reply {
  type: 'ready' | 'result';
  // What was printed, then the last value, or what went wrong.
  text: string;
  failed: boolean;
}

function frame(): HTMLIFrameElement {
  const element = document.createElement('iframe');
  element.setAttribute('sandbox', 'allow-scripts');
  element.referrerPolicy = 'no-referrer';
  element.src = PAGE;
  return element;
}

// A frame that shows HTML or SVG of a model once it stands in the page.
export function preview(markup: string, title: string): HTMLIFrameElement {
  const element = frame();
  element.title = title;
  const onMessage = (event: MessageEvent) => {
    if (event.source !== element.contentWindow || read(event.data)?.type !== 'ready') return;
    removeEventListener('message', onMessage);
    element.contentWindow?.postMessage({ type: 'show', markup }, '*');
  };
  addEventListener('message', onMessage);
  return element;
}

// Runs a script and gives what it printed and its last value. Errors: ToolError where it fails or takes too long, the
// signal's reason.
export async function runScript(code: string, signal: AbortSignal, limitMs = MAX_RUN_MS): Promise<string> {
  signal.throwIfAborted();
  const element = frame();
  element.hidden = true;
  element.setAttribute('aria-hidden', 'true');
  element.tabIndex = -1;
  let clean = () => element.remove();
  try {
    return await new Promise<string>((resolve, reject) => {
      const late = (text: string) => () => reject(new ToolError(text));
      let timer = setTimeout(late('The sandbox did not start.'), MAX_LOAD_MS);
      let asked = false;
      const onMessage = (event: MessageEvent) => {
        // An origin that is "null" proves nothing; the window does.
        if (event.source !== element.contentWindow) return;
        const reply = read(event.data);
        if (reply?.type === 'ready' && !asked) {
          asked = true;
          clearTimeout(timer);
          timer = setTimeout(late(`The script was stopped after ${limitMs / 1000} seconds.`), limitMs);
          element.contentWindow!.postMessage({ type: 'run', code }, '*');
        } else if (reply?.type === 'result') {
          if (reply.failed) reject(new ToolError(reply.text));
          else resolve(reply.text);
        }
      };
      const onAbort = () => reject(signal.reason);
      addEventListener('message', onMessage);
      signal.addEventListener('abort', onAbort);
      clean = () => {
        clearTimeout(timer);
        removeEventListener('message', onMessage);
        signal.removeEventListener('abort', onAbort);
        // Ends whatever still runs in it.
        element.remove();
      };
      document.body.append(element);
    });
  } finally {
    clean();
  }
}

function read(data: unknown): Reply | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { type, text, failed } = data as Record<string, unknown>;
  if (type === 'ready') return { type, text: '', failed: false };
  if (type !== 'result' || typeof text !== 'string') return undefined;
  return { type, text, failed: failed === true };
}
