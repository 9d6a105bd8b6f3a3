// Cuts a stream of bytes into the chunks of a file.
import { chunkLength, kChunkBytes } from '../storage/blob_store.js';

export class ChunkWriter {
  private buffer: Uint8Array<ArrayBuffer> | null = null;
  private filled = 0;

  // Bytes come from the start of chunk `next` on; `size` of the file is null where nobody knows it.
  constructor(
    private next: number,
    private readonly size: number | null,
    private readonly store: (chunk: number, bytes: Uint8Array<ArrayBuffer>) => Promise<void>, // takes them over
  ) {}

  // Where the bytes so far end in the file.
  get position(): number {
    return this.next * kChunkBytes + this.filled;
  }

  // Bytes of the chunk that is not whole yet.
  get pending(): number {
    return this.filled;
  }

  async push(bytes: Uint8Array): Promise<void> {
    for (let taken = 0; taken < bytes.length; ) {
      const length = this.size === null ? kChunkBytes : chunkLength(this.next, this.size);
      this.buffer ??= new Uint8Array(length);
      const piece = bytes.subarray(taken, taken + length - this.filled);
      this.buffer.set(piece, this.filled);
      this.filled += piece.length;
      taken += piece.length;
      if (this.filled === length) await this.flush();
    }
  }

  // The end of a file of unknown size: what is left is its last chunk.
  async finish(): Promise<void> {
    if (this.filled > 0) await this.flush();
  }

  private async flush(): Promise<void> {
    const bytes = this.buffer!.subarray(0, this.filled);
    this.buffer = null;
    this.filled = 0;
    await this.store(this.next++, bytes);
  }
}
