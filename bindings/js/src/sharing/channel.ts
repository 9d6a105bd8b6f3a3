// Messages between the tabs that share an engine: news for all, and ports to one other tab.
import type { ToClient, ToServer } from '../rpc/messages.js';
import type { Port } from '../rpc/port.js';

interface Envelope {
  from: string;
  to: string | null; // null: all
  topic: string;
  body: unknown;
}

type Listener = (from: string, body: unknown) => void;

const kCall = 'call'; // to the leader
const kReply = 'reply'; // from the leader

export class Channel {
  readonly id = crypto.randomUUID();
  private readonly channel: BroadcastChannel;
  private readonly listeners = new Map<string, Listener>(); // by topic, or topic and sender
  private closed = false;

  constructor(name: string) {
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = ({ data }: MessageEvent<Envelope>) => {
      if (data.to !== null && data.to !== this.id) return;
      const listener = this.listeners.get(`${data.topic} ${data.from}`) ?? this.listeners.get(data.topic);
      listener?.(data.from, data.body);
    };
  }

  // Until the function that it gives is called.
  on(topic: string, listener: Listener): () => void {
    this.listeners.set(topic, listener);
    return () => this.listeners.delete(topic);
  }

  broadcast(topic: string, body: unknown): void {
    this.post({ from: this.id, to: null, topic, body });
  }

  // For calls to the leader `tab`.
  toServer(tab: string): Port {
    return this.port(tab, kCall, kReply);
  }

  // For answers to the tab `tab`.
  toClient(tab: string): Port {
    return this.port(tab, kReply, kCall);
  }

  onFirstCall(listener: (from: string, message: ToServer) => void): () => void {
    return this.on(kCall, (from, body) => listener(from, body as ToServer));
  }

  close(): void {
    this.closed = true;
    this.channel.close();
  }

  private port(tab: string, out: string, back: string): Port {
    return {
      post: (message) => this.post({ from: this.id, to: tab, topic: out, body: message as ToServer | ToClient }),
      listen: (handler) => void this.on(`${back} ${tab}`, (_, body) => handler(body)),
      close: () => this.listeners.delete(`${back} ${tab}`),
    };
  }

  private post(envelope: Envelope): void {
    if (!this.closed) this.channel.postMessage(envelope);
  }
}
