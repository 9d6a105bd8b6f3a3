// ByteSink: bytes written in order, to a file or to memory.
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

// Writes beside `path` ("<path>.part") and renames in finish(), so that a broken run never leaves
// half a file under its name. Errors: kIo when the file cannot be created.
base::Result<std::unique_ptr<ByteSink>> create_file(const std::string& path);
// Appends to `out`, which outlives the sink.
std::unique_ptr<ByteSink> to_memory(std::vector<std::byte>& out);

}  // namespace puna::io
