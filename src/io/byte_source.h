// ByteSource: ranged, asynchronous reads. The waist between containers and where their bytes live
// (file, mapped file, memory, later HTTP ranges and browser blobs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/task.h"

namespace puna::io {

using ReadDone = std::function<void(base::Result<void>)>;

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual uint64_t size() const = 0;            // bytes
  virtual const std::string& name() const = 0;  // for messages: a path or URL

  // Fills all of `out` from `offset` on, then calls `done` exactly once, before returning or later
  // on the engine thread. `out` stays alive until then. Errors: kInvalidArgument when the range
  // leaves the source, kIo when it cannot be read.
  virtual void read(uint64_t offset, std::span<std::byte> out, ReadDone done) = 0;

  // Whether read() is over when it returns, and may be called by several threads at once.
  virtual bool reads_at_once() const { return false; }

  // Has the system fetch a range that will be read soon, without waiting for it. False where there
  // is nothing to fetch (memory, a page). By any thread.
  virtual bool fetch(uint64_t /*offset*/, uint64_t /*bytes*/) { return false; }

  // The whole content when it is addressable memory already (mapped file, memory), else empty.
  virtual std::span<const std::byte> mapped() const { return {}; }
};

// co_await form of ByteSource::read.
base::Task<base::Result<void>> read(ByteSource& source, uint64_t offset, std::span<std::byte> out);

// Reads with pread. Errors: kNotFound, kIo (unreadable, a folder, a FIFO or a device).
base::Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);
// The same, and maps the file read-only for who uses bytes in place: reads do not touch the mapped
// pages. A file that shrinks while it is mapped kills the process on access (SIGBUS). Errors: as
// open_file.
base::Result<std::unique_ptr<ByteSource>> map_file(const std::string& path);
// Whether there is a folder at this path.
bool is_folder(const std::string& path);
// A view of memory that outlives the source.
std::unique_ptr<ByteSource> from_memory(std::string name, std::span<const std::byte> bytes);
// Owns its bytes.
std::unique_ptr<ByteSource> from_memory(std::string name, std::vector<std::byte> bytes);
// For tests: passes reads on to `inner`, but the n-th read (from 0) fails with kIo.
std::unique_ptr<ByteSource> failing(std::unique_ptr<ByteSource> inner, int fail_at);

}  // namespace puna::io
