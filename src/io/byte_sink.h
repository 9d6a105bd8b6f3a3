// ByteSink: bytes written in order. Read next: output_file.h, sinks that are files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace puna::io {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Appends. Errors: kIo (disk full and the like); nothing may be written afterwards.
  virtual base::Result<void> write(std::span<const std::byte> bytes) = 0;
  // Makes what was written final; to be called once, last. A file sink destroyed before that leaves
  // nothing behind.
  virtual base::Result<void> finish() = 0;
};

// Appends to `out`, which outlives the sink.
std::unique_ptr<ByteSink> to_memory(std::vector<std::byte>& out);

}  // namespace puna::io
