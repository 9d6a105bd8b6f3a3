#include "gpu/host_memory.h"

#include <fmt/format.h>

#include <cstring>

namespace puna::gpu {

base::Result<std::shared_ptr<HostMemory>> HostMemory::allocate(uint64_t bytes) {
  const uint64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = whole > SIZE_MAX || whole < bytes
                   ? nullptr
                   : ::operator new(whole, std::align_val_t{kAlignment}, std::nothrow);
  if (data == nullptr) {
    return base::fail(base::ErrorCode::kOutOfMemory,
                      fmt::format("There are no {} bytes of memory to share with a GPU.", bytes));
  }
  std::memset(data, 0, static_cast<size_t>(whole));
  return std::shared_ptr<HostMemory>(
      new HostMemory(static_cast<std::byte*>(data), static_cast<size_t>(whole)));
}

}  // namespace puna::gpu
