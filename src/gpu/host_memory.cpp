#include "gpu/host_memory.h"

#include <fmt/format.h>

#include <cstring>

namespace puna::gpu {

base::Result<std::shared_ptr<HostMemory>> HostMemory::allocate(uint64_t bytes) {
  const uint64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const auto n_bytes = static_cast<size_t>(whole);
  void* data = whole < bytes || n_bytes != whole
                   ? nullptr
                   : ::operator new(n_bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (data == nullptr) {
    return base::fail(base::ErrorCode::kOutOfMemory,
                      fmt::format("There are no {} bytes of memory to share with a GPU.", bytes));
  }
  std::memset(data, 0, n_bytes);
  return std::shared_ptr<HostMemory>(new HostMemory(static_cast<std::byte*>(data), n_bytes));
}

}  // namespace puna::gpu
