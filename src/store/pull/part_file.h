// The file of an unfinished download: the bytes at their places, and behind them what is known of
// each chunk, so that a later process goes on with what is whole, and with that alone.
//
//   [0, total)          bytes of the file, as far as they have come
//   [total, +512)       head: magic, total, number of chunks, where from, entity tag
//   [total+512, ...)    an entry a chunk: bytes from its beginning that have come, their checksum
//
// An entry is believed only when the bytes on the disk have its checksum: nothing here needs to be
// written in order. Whether they are the right bytes the SHA-256 of the whole decides at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "store/digest.h"
#include "store/files.h"
#include "store/pull/checksum.h"

namespace puna::store {

struct PartEntry {
  uint64_t bytes = 0;
  Checksum checksum{};
};

class PartFile {
 public:
  // Of a file of `total` bytes in `n_chunks` chunks; made where there is none. What belongs to
  // other numbers is dropped. Errors: kIo.
  static base::Result<PartFile> open(const std::string& path, uint64_t total, size_t n_chunks);

  // Where the bytes came from: SHA-256 of the URL, and its entity tag; zero and empty at first.
  const Digest& source() const { return source_; }
  const std::string& etag() const { return etag_; }
  base::Result<void> set_source(const Digest& source, const std::string& etag);

  base::Result<PartEntry> entry(size_t chunk) const;
  base::Result<void> set_entry(size_t chunk, const PartEntry& entry);
  base::Result<void> drop_entries();

  base::Result<void> write(uint64_t offset, std::span<const std::byte> bytes);
  // Has the disk begin with what was written there, so that place() waits for little.
  void begin_sync(uint64_t offset, uint64_t bytes) const;
  // In order. Errors: kIo, also where the file ends before.
  base::Result<void> read_pieces(
      uint64_t offset, uint64_t bytes,
      const std::function<void(std::span<const std::byte> piece)>& each) const;

  // Makes the file at `path`, of which all `total` bytes have come, the file `to`: the bytes alone,
  // on the disk. Errors: kIo.
  static base::Result<void> place(const std::string& path, uint64_t total, const std::string& to);
  // How many bytes have come, as another process sees it; 0 when that cannot be told.
  static uint64_t done_bytes(const std::string& path, uint64_t total);

 private:
  PartFile(Fd fd, std::string path, uint64_t total, size_t n_chunks)
      : fd_(std::move(fd)), path_(std::move(path)), total_(total), n_chunks_(n_chunks) {}
  base::Result<void> write_head();

  Fd fd_;
  std::string path_;
  uint64_t total_;
  size_t n_chunks_;
  Digest source_;
  std::string etag_;
};

}  // namespace puna::store
