#include "gpu/null/null.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

using namespace puna;
using namespace puna::gpu;

namespace {

const char* const kWgsl = R"(
// @group(0) @binding(7) var<storage> a comment does not count
@group(0) @binding(0) var<storage> a: array<u32>;
@group(0)  @binding(1)
var<storage, read_write> b: array<u32>;
@group(0) @binding(2) var<storage,read_write> c: array<u32>;
@compute @workgroup_size(1) fn main() {}
)";
constexpr Access kRead = Access::kRead, kWrite = Access::kReadWrite;

PipelineId compile(Device& device) {
  PipelineId id;
  device.create_pipeline({"k", kWgsl, {kRead, kWrite, kWrite}}, [&](base::Result<PipelineId> made) {
    REQUIRE_MESSAGE(made, made.error().text());
    id = *made;
  });
  return id;
}

}  // namespace

TEST_CASE("the null device records what is submitted and counts its bytes") {
  auto device = null::create();
  const PipelineId pipeline = compile(*device);
  CHECK(device->pipeline(pipeline).label == "k");
  const BufferId a = *device->create_buffer(1000, BufferUse::kStorage, "a");
  const BufferId b = *device->create_buffer(uint64_t{200} << 20, BufferUse::kStorage,
                                            "b");  // takes no memory until written
  CHECK(device->allocated_bytes() == 1000 + (uint64_t{200} << 20));
  const Binding bindings[] = {{a, 0, 1000}, {b, 0, 256}, {b, 256, 256}};
  CommandList list;
  list.dispatch(pipeline, *device->create_bind_group(pipeline, bindings), 3, 2, 1);
  CHECK(device->submit(list)->value == 1);
  CHECK(device->submit(list)->value == 2);
  REQUIRE(device->submitted().size() == 2);
  CHECK(device->submitted()[1].x == 3);
  device->destroy_buffer(b);
  CHECK(device->allocated_bytes() == 1000);
}

TEST_CASE("the null device refuses overlapping writes and a buffer both read and written") {
  auto device = null::create();
  const PipelineId pipeline = compile(*device);
  const BufferId a = *device->create_buffer(4096, BufferUse::kStorage, "a");
  const BufferId b = *device->create_buffer(4096, BufferUse::kStorage, "b");
  const auto bind = [&](Binding x, Binding y, Binding z) {
    const Binding all[] = {x, y, z};
    const auto group = device->create_bind_group(pipeline, all);
    return group ? std::string() : group.error().message;
  };
  CHECK(bind({a, 0, 256}, {b, 0, 256}, {b, 256, 256}) == "");
  CHECK(bind({a, 0, 256}, {b, 0, 260}, {b, 256, 256}) ==
        "Bindings 1 and 2 of kernel \"k\" overlap and are written: bytes 0 to 260 and 256 to 512.");
  CHECK(bind({a, 0, 256}, {a, 512, 256}, {b, 0, 256}) ==
        "Bindings 0 (read) and 1 (read_write) of kernel \"k\" use one buffer; WebGPU refuses that "
        "even on disjoint ranges: "
        "declare both read_write or use two buffers.");
}

TEST_CASE("each fallible call can be made to fail, and nothing breaks") {
  int n_failures = 0;
  for (int at = 0; at < 7; ++at) {
    null::Options options;
    options.fail_at = at;
    auto device = null::create(options);
    std::optional<base::Error> error;
    const auto run = [&]() -> base::Result<void> {
      PUNA_TRY(const BufferId a, device->create_buffer(512, BufferUse::kStorage, "a"));
      PUNA_TRY(const BufferId r, device->create_buffer(512, BufferUse::kReadback, "r"));
      base::Result<PipelineId> pipeline = base::fail(base::ErrorCode::kInternal, "");
      device->create_pipeline({"k", kWgsl, {kRead, kWrite, kWrite}},
                              [&](auto made) { pipeline = std::move(made); });
      PUNA_TRY(std::move(pipeline));
      const std::byte word[4] = {};
      PUNA_TRY(device->write_buffer(a, 0, word));
      CommandList list;
      list.copy(a, 0, r, 0, 512);
      PUNA_TRY(const SubmitId id, device->submit(list));
      base::Result<void> read;
      device->read_back(r, 0, {}, [&](base::Result<void> done) { read = std::move(done); });
      PUNA_TRY(std::move(read));
      return device->wait(id);
    };
    const auto result = run();
    if (!result) {
      ++n_failures;
      CHECK(result.error().code == base::ErrorCode::kOutOfMemory);
    }
    CHECK(device->submit({}));  // only the one call fails
  }
  CHECK(n_failures == 7);
}

TEST_CASE("a lost device fails everything with the same error and drops outstanding reads") {
  null::Options options;
  options.lose_at = 1;
  auto device = null::create(options);
  const BufferId r = *device->create_buffer(16, BufferUse::kReadback, "r");
  base::ErrorCode read = base::ErrorCode::kInternal;
  std::byte out[16];
  CHECK(device->submit({}));
  device->read_back(r, 0, out, [&](base::Result<void> done) {
    if (!done) read = done.error().code;
  });
  CHECK_FALSE(device->lost());
  CHECK(device->submit({}).error().code == base::ErrorCode::kDeviceLost);
  CHECK(device->lost());
  CHECK(read == base::ErrorCode::kDeviceLost);
  CHECK(device->create_buffer(4, BufferUse::kStorage, "a").error().message ==
        "The GPU is lost: the null device was told to lose itself.");
  CHECK(device->wait({1}).error().code == base::ErrorCode::kDeviceLost);
}

TEST_CASE("memory of the host is whole and zero, and a device that cannot share it says so") {
  const auto memory = HostMemory::allocate(70000);
  REQUIRE(memory.has_value());
  const std::span<std::byte> bytes = (*memory)->bytes();
  CHECK(bytes.size() == 131072);
  CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % 65536 == 0);
  CHECK(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; }));
  const auto too_much = HostMemory::allocate(UINT64_MAX);
  REQUIRE(!too_much.has_value());
  CHECK(too_much.error().code == base::ErrorCode::kOutOfMemory);

  const auto device = null::create();
  const auto shared = device->share(*memory, "link");
  REQUIRE(!shared.has_value());
  CHECK(shared.error().code == base::ErrorCode::kUnsupported);
  CHECK(shared.error().text().find("\"link\"") != std::string::npos);
  CHECK(memory->use_count() == 1);
}
