// Pages where only the standard library is at hand.
#include <fmt/format.h>

#include <cstring>
#include <new>

#include "base/commit.h"
#include "base/pages.h"

namespace puna::base {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

// They are: zeros are written.
void commit_pages_at_once() {}
bool commit(std::byte*, size_t) { return true; }

Pages::~Pages() {
  if (data_) ::operator delete[](data_, kAlignment);
}

Result<Pages> Pages::allocate(uint64_t bytes) {
  Pages pages;
  if (bytes == 0) return pages;
  if (bytes <= SIZE_MAX / 2)
    pages.data_ = new (kAlignment, std::nothrow) std::byte[static_cast<size_t>(bytes)];
  if (!pages.data_) {
    return fail(ErrorCode::kOutOfMemory,
                fmt::format("The system has no {} MiB of memory in one piece.", bytes >> 20));
  }
  pages.bytes_ = static_cast<size_t>(bytes);
  std::memset(pages.data_, 0, pages.bytes_);
  return pages;
}

Result<void> lock_memory(const std::byte*, size_t) {
  return fail(ErrorCode::kUnsupported, "Memory cannot be locked on this system.");
}

}  // namespace puna::base
