#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/commit.h"
#include "base/pages.h"

namespace puna::base {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
std::atomic<bool> g_at_once{false};

// False: the system has no more. One that cannot do this (before Linux 5.14) takes it later.
bool take_now(void* address, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  return ::madvise(address, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
#else
  return address != nullptr || bytes == 0;
#endif
}

}  // namespace

void commit_pages_at_once() { g_at_once = true; }

bool commit(std::byte* data, size_t bytes) {
  if (!g_at_once || bytes == 0) return true;
  // Whole pages are taken; those at the ends may have neighbours in them.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<uintptr_t>(data) % page;
  return take_now(data - before, before + bytes);
}

Pages::~Pages() {
  if (data_) ::munmap(data_, bytes_);
}

Result<Pages> Pages::allocate(uint64_t bytes) {
  Pages pages;
  if (bytes == 0) return pages;
  void* address = MAP_FAILED;
  if (bytes <= SIZE_MAX / 2 - kHugePage) {
    address = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (address == MAP_FAILED) {
    return fail(ErrorCode::kOutOfMemory,
                fmt::format("The system has no {} MiB of memory in one piece.", bytes >> 20));
  }
  pages.data_ = static_cast<std::byte*>(address);
  pages.bytes_ = static_cast<size_t>(bytes);
  // Advice only: a system without huge pages refuses it, and nothing changes.
  if (pages.bytes_ >= kHugePage) ::madvise(address, pages.bytes_, MADV_HUGEPAGE);
  if (!commit(pages.data_, pages.bytes_)) {
    return fail(ErrorCode::kOutOfMemory,
                fmt::format("The system has no {} MiB of memory left.", bytes >> 20));
  }
  return pages;
}

Result<void> lock_memory(const std::byte* data, size_t bytes) {
  if (bytes == 0 || ::mlock(data, bytes) == 0) return {};
  const std::string reason = std::generic_category().message(errno);
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} MiB cannot be locked in memory: {}; the limit of locked memory "
                          "(ulimit -l) is {} KiB.",
                          bytes >> 20, reason, limit.rlim_cur >> 10));
}

}  // namespace puna::base
