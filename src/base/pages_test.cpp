#include "base/pages.h"

#include <algorithm>
#include <utility>

#include "doctest/doctest.h"

namespace puna::base {
namespace {

TEST_CASE("pages are zeroed, aligned, and go with who owns them") {
  for (const size_t bytes : {size_t{1}, size_t{4097}, (size_t{5} << 20) + 3}) {
    auto pages = Pages::allocate(bytes);
    REQUIRE(pages.has_value());
    CHECK(pages->bytes() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(pages->data()) % 64 == 0);
    CHECK(std::all_of(pages->data(), pages->data() + bytes,
                      [](std::byte b) { return b == std::byte{0}; }));
    pages->data()[bytes - 1] = std::byte{7};
    const Pages moved = std::move(*pages);
    CHECK(moved.data()[bytes - 1] == std::byte{7});
    CHECK(pages->data() == nullptr);
  }
}

TEST_CASE("no bytes need no memory, and more than the address space holds is an error") {
  CHECK(Pages::allocate(0)->data() == nullptr);
  auto huge = Pages::allocate(UINT64_MAX);
  REQUIRE_FALSE(huge.has_value());
  CHECK(huge.error().code == ErrorCode::kOutOfMemory);
  const auto locked = lock_memory(nullptr, 0);
  CHECK((locked.has_value() || locked.error().code == ErrorCode::kUnsupported));
}

}  // namespace
}  // namespace puna::base
