// Computes the SHA-256 of chunks of a part file, and of the whole in their order, on a thread of
// its own while the rest is still under way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "store/pull/part_file.h"
#include "store/sha256.h"

namespace puna::store {

struct Chunk {
  uint64_t first = 0;
  uint64_t bytes = 0;
  std::optional<Digest> known{};  // what the server says that its SHA-256 is
};

class Hasher {
 public:
  // Both outlive the hasher.
  Hasher(const PartFile& file, const std::vector<Chunk>& chunks);
  ~Hasher();  // waits for the chunk it is at

  // The chunk is in the file. `expected`: its digest, which decides whether it is taken into the
  // whole.
  void add(size_t chunk, std::optional<Digest> expected);

  struct Hashed {
    size_t chunk = 0;
    Digest digest{};
    bool as_expected = true;
  };
  // What was computed since the last call. Errors: kIo.
  base::Result<std::vector<Hashed>> take();
  bool idle() const;  // nothing left to compute, nor to take
  // Of all chunks, once each was added and taken.
  Digest whole();

 private:
  struct Wanted {
    size_t chunk;
    std::optional<Digest> expected;
  };
  void run();
  base::Result<void> hash(const Wanted& wanted);
  base::Result<void> feed(size_t chunk, Sha256& hash);

  const PartFile& file_;
  const std::vector<Chunk>& chunks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Wanted> wanted_;
  std::vector<Hashed> hashed_;
  std::optional<base::Error> error_;
  bool busy_ = false, stop_ = false;
  // Of the thread alone, until it is idle.
  Sha256 whole_;
  std::vector<bool> good_;
  std::vector<std::byte> buffer_;
  size_t front_ = 0;  // chunks before it are in whole_
  std::thread thread_;
};

}  // namespace puna::store
