// Memory of the host that devices may be given as a buffer (Device::share).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "base/result.h"

namespace puna::gpu {

class HostMemory {
 public:
  // Zero-filled; bytes are rounded up to a multiple of kAlignment. Errors: kOutOfMemory.
  static base::Result<std::shared_ptr<HostMemory>> allocate(uint64_t bytes);
  ~HostMemory() { ::operator delete(data_, std::align_val_t{kAlignment}); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::span<std::byte> bytes() const { return {data_, n_bytes_}; }

 private:
  // Of what drivers ask for, the most: a page on Linux, the granularity of VirtualAlloc on Windows.
  static constexpr size_t kAlignment = size_t{64} << 10;

  HostMemory(std::byte* data, size_t n_bytes) : data_(data), n_bytes_(n_bytes) {}

  std::byte* data_;
  size_t n_bytes_;
};

}  // namespace puna::gpu
