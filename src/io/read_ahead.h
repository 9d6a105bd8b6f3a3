// Asks the system for parts of a file before they are read, in a thread of its own, so that the
// disk works while the reader computes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/byte_source.h"

namespace puna::io {

class ReadAhead {
 public:
  // Of the file behind `fd`, which stays open as long as this; in the order of the ranges, some way
  // before what was read. Null where the system cannot be asked so, or has no threads.
  static std::unique_ptr<ReadAhead> start(int fd, std::span<const ByteRange> ranges);

  virtual ~ReadAhead() = default;
  ReadAhead() = default;
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  virtual void passed(uint64_t bytes) = 0;  // so many were read; from any thread
};

}  // namespace puna::io
