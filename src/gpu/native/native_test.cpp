// What only the native device can show: loss, and the errors of the library.
#include "gpu/native/native.h"

#include <doctest/doctest.h>
#ifdef __linux__
#include <unistd.h>
#endif

#include <fstream>

#include "base/log.h"
#include "gpu/native/native_device.h"

// wgpu-native forgets two objects of the driver when a device is destroyed under work.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libvulkan_\n"; }

using namespace puna;
using namespace puna::gpu;

TEST_CASE("a device that may use so much memory refuses more, and gives again what came back") {
  if (native::adapters()->empty()) {
    MESSAGE("SKIPPED: there is no native adapter");
    return;
  }
  auto device = native::open(0, {.memory_bytes = 1024});
  REQUIRE(device);
  const auto make = [&](uint64_t bytes, BufferUse use = BufferUse::kStorage) {
    return (*device)->create_buffer(bytes, use, "b");
  };
  const auto first = make(512);
  REQUIRE(first);
  CHECK(make(509, BufferUse::kReadback));  // whole words: 512
  const auto refused = make(4);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::ErrorCode::kOutOfMemory);
  CHECK(refused.error().message.find("1024 of the 1024 bytes") != std::string::npos);
  (*device)->destroy_buffer(*first);
  (*device)->destroy_buffer(*first);
  CHECK(make(512));
  CHECK_FALSE(make(4));
}

#ifdef __linux__
TEST_CASE("the memory of destroyed buffers is free for the next ones") {
  const auto adapters = native::adapters();
  const bool software = !adapters->empty() && adapters->front().info.type == AdapterType::kSoftware;
  if (!software) {
    MESSAGE("SKIPPED: memory of a device is seen where it is the host's, on a software adapter");
    return;
  }
  const auto mapped_mib = [] {
    std::ifstream in("/proc/self/statm");
    uint64_t pages = 0;
    in >> pages;
    return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) >> 20;
  };
  auto device = native::open(0);
  REQUIRE(device);
  constexpr uint64_t kMib = 256;
  const auto before = mapped_mib();
  for (int i = 0; i < 8; ++i) {
    const auto buffer = (*device)->create_buffer(kMib << 20, BufferUse::kStorage, "b");
    REQUIRE(buffer);
    (*device)->destroy_buffer(*buffer);
  }
  CHECK(mapped_mib() < before + 3 * kMib);
}
#endif

TEST_CASE("a lost device answers everything with kDeviceLost and drops outstanding reads") {
  if (native::adapters()->empty()) {
    MESSAGE("SKIPPED: there is no native adapter");
    return;
  }
  base::set_log_sink([](base::LogLevel, std::string_view) {}, base::LogLevel::kWarning);
  auto opened = native::open(0);
  REQUIRE(opened);
  auto& device = static_cast<native::NativeDevice&>(**opened);
  const BufferId a = *device.create_buffer(64, BufferUse::kStorage, "a");
  const BufferId r = *device.create_buffer(64, BufferUse::kReadback, "r");
  CommandList list;
  list.copy(a, 0, r, 0, 64);
  const SubmitId submit = *device.submit(list);
  std::byte out[64];
  int n_failed = 0;
  device.read_back(r, 0, out, [&](base::Result<void> done) {
    if (!done && done.error().code == base::ErrorCode::kDeviceLost) ++n_failed;
  });
  bool compiled = false;
  device.create_pipeline({"k", "@compute @workgroup_size(1) fn main() {}", {}},
                         [&](const auto&) { compiled = true; });
  device.lose_for_test();
  CHECK(device.lost());
  for (int i = 0; i < 1000 && !compiled; ++i) device.poll();
  CHECK(compiled);
  const auto is_lost = [](const auto& result) {
    return !result && result.error().code == base::ErrorCode::kDeviceLost;
  };
  CHECK(is_lost(device.submit(list)));
  CHECK(is_lost(device.wait(submit)));
  CHECK(is_lost(device.create_buffer(64, BufferUse::kStorage, "b")));
  CHECK(is_lost(device.write_buffer(a, 0, std::span(out).first(4))));
  device.create_pipeline({"k", "fn main() {}", {}}, [&](auto made) { CHECK(is_lost(made)); });
  device.poll();
  CHECK(n_failed == 1);
}
