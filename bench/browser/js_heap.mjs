// The JavaScript heaps of a page and its workers, as the browser's inspector counts them: objects, without ArrayBuffers and WebAssembly
// memory, which it does not count where threads share them (the memory of the processes has them all).
// performance.measureUserAgentSpecificMemory() would be the page's own way, but gives nothing while workers compute.
const kAnswerMs = 2000; // what computes without a break does not answer

export class JsHeap {
  static async of(page) {
    const heap = new JsHeap(await page.context().newCDPSession(page));
    await heap.cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
    return heap;
  }

  constructor(cdp) {
    this.cdp = cdp;
    this.last = new Map(); // bytes that each heap had when it answered last, by session; '' is the page
    this.peak = 0;
    this.pending = new Map();
    cdp.on('Target.attachedToTarget', ({ sessionId }) => this.last.set(sessionId, 0));
    cdp.on('Target.detachedFromTarget', ({ sessionId }) => this.last.delete(sessionId));
    cdp.on('Target.receivedMessageFromTarget', ({ message }) => {
      const { id, result } = JSON.parse(message);
      this.pending.get(id)?.(result ?? null);
      this.pending.delete(id);
    });
  }

  // Asks all heaps; `peak` is the largest sum so far.
  async sample() {
    this.last.set('', bytesOf(await this.cdp.send('Runtime.getHeapUsage').catch(() => null)));
    await Promise.all(
      [...this.last.keys()].filter(Boolean).map(async (session) => {
        const usage = await this.ask(session);
        if (usage && this.last.has(session)) this.last.set(session, bytesOf(usage));
      }),
    );
    const sum = [...this.last.values()].reduce((a, b) => a + b, 0);
    this.peak = Math.max(this.peak, sum);
    return sum;
  }

  // Null where a worker has ended or does not answer in time.
  ask(sessionId) {
    const id = (this.asked = (this.asked ?? 0) + 1);
    const message = JSON.stringify({ id, method: 'Runtime.getHeapUsage', params: {} });
    const answer = new Promise((resolve) => this.pending.set(id, resolve));
    const late = new Promise((resolve) => setTimeout(resolve, kAnswerMs, null));
    return this.cdp.send('Target.sendMessageToTarget', { sessionId, message }).then(() => Promise.race([answer, late]), () => null);
  }
}

const bytesOf = (usage) => usage?.usedSize ?? 0;
