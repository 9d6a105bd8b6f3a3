// How far a load is, for the caller's progress bar.

export interface Progress {
  // waiting: another tab downloads the same file; download: bytes are coming, or being found in storage; load: the engine reads them
  stage: 'waiting' | 'download' | 'load';
  source: 'network' | 'storage' | 'file';
  doneBytes: number;
  totalBytes: number | null; // null: the server does not say
  bytesPerSecond: number | null; // of the last seconds; null at the start
}

const kWindowMs = 3000;
const kReportMs = 100;

// Bytes per second over the last seconds.
export class Rate {
  private samples: { at: number; bytes: number }[] = [];

  add(at: number, bytes: number): void {
    this.samples.push({ at, bytes });
    while (this.samples.length > 2 && at - this.samples[0]!.at > kWindowMs) this.samples.shift();
  }

  get value(): number | null {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (!first || !last || last.at - first.at < kReportMs) return null;
    return ((last.bytes - first.bytes) * 1000) / (last.at - first.at);
  }
}

interface FileProgress {
  done: number;
  total: number | null;
  network: boolean;
  waiting: boolean;
}

// Sums the files of a model and reports at most ten times a second.
export class DownloadProgress {
  private readonly files = new Map<string, FileProgress>();
  private readonly rate = new Rate();
  private reportedAt = -Infinity;

  constructor(private readonly report: (progress: Progress) => void) {}

  update(path: string, change: Partial<FileProgress>): void {
    const file = this.files.get(path) ?? { done: 0, total: null, network: false, waiting: false };
    this.files.set(path, { ...file, ...change });
    const files = [...this.files.values()];
    const doneBytes = files.reduce((sum, { done }) => sum + done, 0);
    const totalBytes = files.some(({ total }) => total === null) ? null : files.reduce((sum, { total }) => sum + total!, 0);
    const now = performance.now();
    const complete = doneBytes === totalBytes;
    if (!complete && change.waiting === undefined && now - this.reportedAt < kReportMs) return;
    this.reportedAt = now;
    const network = files.some((each) => each.network);
    if (network) this.rate.add(now, doneBytes);
    this.report({
      stage: files.some(({ waiting }) => waiting) ? 'waiting' : 'download',
      source: network ? 'network' : 'storage',
      doneBytes,
      totalBytes,
      bytesPerSecond: this.rate.value,
    });
  }
}
