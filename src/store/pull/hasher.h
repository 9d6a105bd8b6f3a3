// Computes the SHA-256 of a part file in the order of its chunks, on a thread of its own while the
// rest is still under way.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
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

  // All of the chunk is in the file. With `expected`, that is only taken on trust: the chunk counts
  // when its bytes have this checksum, and is damaged otherwise.
  void add(size_t chunk, std::optional<Checksum> expected);
  // The chunks that were found damaged since the last call, each to be added again. Errors: kIo.
  base::Result<std::vector<size_t>> take_damaged();
  // Nothing to compute until another chunk is added, and nothing to take.
  bool idle() const;
  void wait_for_idle(std::chrono::milliseconds at_most) const;
  // SHA-256 of all chunks, once each was added and it is idle.
  Digest whole();

 private:
  struct Added {
    bool there = false;
    std::optional<Checksum> expected{};
  };
  bool has_next() const { return front_ < added_.size() && added_[front_].there; }
  bool is_idle() const { return !has_next() && damaged_.empty() && !error_; }
  void run();
  // Takes the chunk into the whole; false, and nothing is taken, when it is not as expected.
  base::Result<bool> hash(const Chunk& chunk, const std::optional<Checksum>& expected);

  const PartFile& file_;
  const std::vector<Chunk>& chunks_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Added> added_;  // of each chunk
  size_t front_ = 0;          // chunks before it are in whole_
  std::vector<size_t> damaged_;
  std::optional<base::Error> error_;
  bool stop_ = false;
  // Of the thread alone, until all is in it.
  Sha256 whole_;
  std::thread thread_;
};

}  // namespace puna::store
