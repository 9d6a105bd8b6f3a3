// Where messages go and come from: a worker, a MessagePort, or one address of a BroadcastChannel.

export interface Port {
  post(message: unknown): void;
  listen(handler: (message: unknown) => void): void;
  close(): void;
}

interface MessageTarget {
  postMessage(message: unknown): void;
  addEventListener(type: 'message', handler: (event: MessageEvent) => void): void;
}

// A Worker, a MessagePort or the global scope of a worker.
export function portOf(target: MessageTarget, close: () => void = () => undefined): Port {
  return {
    post: (message) => target.postMessage(message),
    listen: (handler) => {
      target.addEventListener('message', ({ data }) => handler(data));
      (target as Partial<MessagePort>).start?.();
    },
    close,
  };
}
