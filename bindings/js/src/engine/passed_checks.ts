// The self-tests of GPUs that passed lately, so that a visit does not begin with one each time. A page is not told of new drivers, so
// they are forgotten after some days. Where nothing can be stored, each load checks.
import type { RecordStore } from '../storage/blob_store.js';

const kRecord = 'passed-checks';
const kKeepMs = 7 * 24 * 3600 * 1000;

export class PassedChecks {
  constructor(
    private readonly open: () => Promise<RecordStore>,
    private readonly now: () => number = Date.now,
  ) {}

  // Keys, as engine::check_key makes them.
  async list(): Promise<string[]> {
    try {
      return Object.keys(await this.read(await this.open()));
    } catch {
      return [];
    }
  }

  async add(key: string): Promise<void> {
    try {
      const records = await this.open();
      await records.put(kRecord, { ...(await this.read(records)), [key]: this.now() });
    } catch (error) {
      console.debug(`puna: the self-test is not remembered: ${String(error)}`);
    }
  }

  private async read(records: RecordStore): Promise<Record<string, number>> {
    const value = await records.get(kRecord);
    const fresh = (at: unknown) => typeof at === 'number' && at <= this.now() && this.now() - at < kKeepMs;
    return Object.fromEntries(Object.entries(value ?? {}).filter(([, at]) => fresh(at)));
  }
}
