// What PUNA_WEBGPU may say.
#include <doctest/doctest.h>

#include "gpu/native/library.h"

using namespace puna;
using namespace puna::gpu::native;

TEST_CASE("a path that is no library is an error with the path and the system's reason") {
  const auto none = load_libraries("/nowhere/libwebgpu.so");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == base::ErrorCode::kInvalidArgument);
  const std::string& message = none.error().message;
  CHECK(message.starts_with("PUNA_WEBGPU is \"/nowhere/libwebgpu.so\""));
  CHECK(message.find("/nowhere/libwebgpu.so: ") != std::string::npos);
}

TEST_CASE("a library of other functions is refused by the first that it lacks") {
  const auto other = load_libraries("libm.so.6");
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("it has no function wgpuAdapterGetInfo") != std::string::npos);
}

TEST_CASE("a library is found by its kind and by its path, and lends each instance to one") {
  // Kept to the end of the process, as libraries() keeps them, since instances live as long.
  static const auto& found = *new auto(load_libraries("wgpu"));
  if (!found) {
    MESSAGE("SKIPPED: there is no wgpu-native");
    CHECK(found.error().message.find("wgpu_native") != std::string::npos);
    return;
  }
  REQUIRE(found->size() == 1);
  Library& library = *found->front();
  CHECK(library.kind() == LibraryKind::kWgpuNative);
  const auto same = load_libraries(library.path());
  REQUIRE(same);
  CHECK(same->front()->kind() == library.kind());

  auto first = library.instance();
  auto second = library.instance();
  REQUIRE((first && second));
  CHECK(first.get() != second.get());
  const Instance* returned = first.get();
  first.reset();
  CHECK(library.instance().get() == returned);
}
