// Files of the page that the engine reads or writes by their number for a while, beside the parts of its model.

export interface PageFile {
  read?(offset: number, out: Uint8Array): void | Promise<void>; // as of ModelPart
  write?(bytes: Uint8Array): void; // appends
}

const kFirst = 1 << 20; // parts of a model have lower numbers

export class PageFiles {
  private readonly files = new Map<number, PageFile>();
  private last = kFirst;

  get(index: number): PageFile | undefined {
    return this.files.get(index);
  }

  // The engine has them until `use` is over.
  async lend<T>(files: readonly PageFile[], use: (indices: number[]) => Promise<T>): Promise<T> {
    const indices = files.map((file) => {
      this.files.set(++this.last, file);
      return this.last;
    });
    try {
      return await use(indices);
    } finally {
      indices.forEach((index) => this.files.delete(index));
    }
  }
}
