// The files of a model as the engine reads them, wherever they come from.

export interface ModelPart {
  readonly path: string; // "model.gguf", or "config.json", "params_shard_0.bin" for folders
  readonly size: number; // bytes
  readonly sync?: boolean; // every read is over when it returns
  // Fills `out` from `offset`. Returns at once when the bytes can be had synchronously (OPFS sync access handle), else a promise
  // (a Blob, or bytes still being downloaded: a read waits for them). Rejects with a PunaError.
  read(offset: number, out: Uint8Array): void | Promise<void>;
}

export interface ModelFiles {
  readonly name: string;
  readonly parts: readonly ModelPart[];
  // Resolves when all bytes are there and their SHA-256 was right (at once for stored and local files); the engine awaits it before it says loaded.
  // Gives the digest of the model; null for files that are read where they are, of which none is known.
  readonly verified: Promise<string | null>;
  close(): void;
  // The encoder of pictures and sounds beside it, one part. It stays open for as long as the engine does, which reads it again for a
  // larger picture.
  readonly mmproj?: ModelFiles;
}
