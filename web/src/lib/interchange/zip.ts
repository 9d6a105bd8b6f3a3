// ZIP archives (APPNOTE 6.3.10) as exports are: read entry by entry, so that an archive never lies in memory; written
// by fflate.
const endSize = 22;
const most = 0xffff;

export interface Entry {
  name: string;
  // As the archive says, which may be wrong.
  bytes: number;
  // Errors: throws a sentence when it is damaged, encrypted or larger than `limitBytes`.
  read(limitBytes: number): Promise<Blob>;
}

export async function isZip(blob: Blob): Promise<boolean> {
  const head = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
  return head[0] === 0x50 && head[1] === 0x4b && (head[2] === 3 || head[2] === 5);
}

// Errors: throws a sentence when there is no directory at its end.
export async function entriesOf(archive: Blob): Promise<Entry[]> {
  // The directory's place stands at the end, behind it a comment at most.
  const tailAt = Math.max(0, archive.size - endSize - most);
  const tail = await viewOf(archive.slice(tailAt));
  let end = tail.byteLength - endSize;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) --end;
  if (end < 0) throw new Error('The archive has no end: it is damaged or not whole.');
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  if (count === most || start === 0xffffffff)
    throw new Error('The archive is of the form for more than 4 GB, which is not read.');
  const directory = await viewOf(archive.slice(start, start + size));
  const entries: Entry[] = [];
  for (let at = 0, i = 0; i < count; ++i) {
    if (at + 46 > directory.byteLength || directory.getUint32(at, true) !== 0x02014b50) {
      throw new Error("The archive's list of files is damaged.");
    }
    const nameBytes = directory.getUint16(at + 28, true);
    const name = new TextDecoder().decode(
      new Uint8Array(directory.buffer, at + 46, Math.min(nameBytes, directory.byteLength - at - 46)),
    );
    const head: Head = {
      isEncrypted: (directory.getUint16(at + 8, true) & 1) !== 0,
      method: directory.getUint16(at + 10, true),
      packedBytes: directory.getUint32(at + 20, true),
      start: directory.getUint32(at + 42, true),
    };
    const bytes = directory.getUint32(at + 24, true);
    if (!name.endsWith('/')) entries.push({ name, bytes, read: (limitBytes) => readEntry(archive, head, limitBytes) });
    at += 46 + nameBytes + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
  }
  return entries;
}

interface Head {
  isEncrypted: boolean;
  method: number;
  packedBytes: number;
  start: number;
}

async function readEntry(
  archive: Blob,
  { isEncrypted, method, packedBytes, start }: Head,
  limitBytes: number,
): Promise<Blob> {
  if (isEncrypted) throw new Error('It is encrypted.');
  if (method !== 0 && method !== 8) throw new Error(`It is packed by method ${method}, which is not read.`);
  const local = await viewOf(archive.slice(start, start + 30));
  if (local.byteLength < 30 || local.getUint32(0, true) !== 0x04034b50) throw new Error('It is damaged.');
  const dataAt = start + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  const packed = archive.slice(dataAt, dataAt + packedBytes);
  if (packed.size < packedBytes) throw new Error('It is damaged.');
  if (method === 0) {
    if (packed.size > limitBytes) throw tooLarge(limitBytes);
    return packed;
  }
  const chunks: BlobPart[] = [];
  let bytes = 0;
  const reader = packed.stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error('It is damaged.');
    });
    if (done) return new Blob(chunks);
    bytes += value.length;
    // A few bytes may say that they are very many.
    if (bytes > limitBytes) {
      void reader.cancel();
      throw tooLarge(limitBytes);
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

function tooLarge(limitBytes: number): Error {
  return new Error(`It is larger than can be read (${Math.floor(limitBytes / 2 ** 20)} MB).`);
}

async function viewOf(blob: Blob): Promise<DataView> {
  return new DataView(await blob.arrayBuffer());
}

// Of texts under names.
export async function zipOf(files: AsyncIterable<[string, string]>): Promise<Blob> {
  const { Zip, ZipDeflate, strToU8 } = await import('fflate');
  const chunks: BlobPart[] = [];
  let failed: Error | null = null;
  const zip = new Zip((error, chunk) => {
    failed ??= error;
    if (chunk) chunks.push(chunk as Uint8Array<ArrayBuffer>);
  });
  for await (const [name, text] of files) {
    const entry = new ZipDeflate(name);
    zip.add(entry);
    entry.push(strToU8(text), true);
  }
  zip.end();
  if (failed) throw failed;
  return new Blob(chunks, { type: 'application/zip' });
}
