// What device.h promises, checked on the null device and on the first native adapter (software
// Vulkan will do).
#include "gpu/device.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/native/native.h"
#include "gpu/null/null.h"

using namespace puna;
using namespace puna::gpu;

namespace {

struct Case {
  std::string name;
  std::unique_ptr<Device> device;
  bool computes = false;  // dispatches have an effect
};

std::vector<Case> devices() {
  std::vector<Case> cases;
  cases.push_back({"null", null::create(), false});
  const auto adapters = native::adapters();
  REQUIRE(adapters);
  if (adapters->empty()) {
    MESSAGE("SKIPPED: there is no native adapter, only the null device is tested");
    return cases;
  }
  auto device = native::open(0);
  REQUIRE_MESSAGE(device, device.error().text());
  cases.push_back({adapters->front().info.name, std::move(*device), true});
  return cases;
}

#define FOR_EACH_DEVICE(c)      \
  auto puna_cases_ = devices(); \
  for (Case & c : puna_cases_) SUBCASE(c.name.c_str())

using Words = std::vector<uint32_t>;
std::span<const std::byte> bytes(const Words& words) { return std::as_bytes(std::span(words)); }

base::Result<PipelineId> compile(Device& device, PipelineDesc desc) {
  std::optional<base::Result<PipelineId>> made;
  device.create_pipeline(std::move(desc),
                         [&](base::Result<PipelineId> result) { made = std::move(result); });
  while (!made) device.poll();
  return *std::move(made);
}

base::Result<Words> read(Device& device, BufferId buffer, size_t n_words, uint64_t offset = 0) {
  Words words(n_words, 0xdeadbeef);
  std::optional<base::Result<void>> done;
  device.read_back(buffer, offset, std::as_writable_bytes(std::span(words)),
                   [&](base::Result<void> result) { done = std::move(result); });
  while (!done) device.poll();
  PUNA_TRY(*std::move(done));
  return words;
}

// Copies the start of a storage buffer to the host.
base::Result<Words> fetch(Device& device, BufferId buffer, size_t n_words) {
  PUNA_TRY(const BufferId staging,
           device.create_buffer(n_words * 4, BufferUse::kReadback, "staging"));
  CommandList list;
  list.copy(buffer, 0, staging, 0, n_words * 4);
  PUNA_TRY(device.submit(list));
  auto words = read(device, staging, n_words);
  device.destroy_buffer(staging);
  return words;
}

constexpr std::string_view kAddOne = R"(
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&y)) { y[id.x] = x[id.x] + 1u; }
}
)";
PipelineDesc add_one() {
  return {"add_one", std::string(kAddOne), {Access::kRead, Access::kReadWrite}};
}

template <class T>
std::string message(const base::Result<T>& result) {
  return result ? std::string("no error") : result.error().message;
}
template <class T>
base::ErrorCode code(const base::Result<T>& result) {
  return result ? base::ErrorCode::kInternal : result.error().code;
}

}  // namespace

TEST_CASE("a new buffer is zero and holds what is written") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const auto buffer = device.create_buffer(64, BufferUse::kStorage, "b");
    REQUIRE(buffer);
    CHECK(*fetch(device, *buffer, 16) == Words(16, 0));
    CHECK(device.write_buffer(*buffer, 8, bytes({1, 2, 3})));
    CHECK(*fetch(device, *buffer, 6) == Words{0, 0, 1, 2, 3, 0});
    CHECK(device.write_buffer(*buffer, 0, {}));
  }
}

TEST_CASE("large writes take effect in order, among small ones") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    // More than a device may have on its way at once.
    constexpr uint32_t kWords = 5 << 20, kTurns = 4;
    const BufferId buffer = *device.create_buffer(kWords * 4, BufferUse::kStorage, "large");
    Words expected(kWords);
    for (uint32_t turn = 1; turn <= kTurns; ++turn) {
      for (uint32_t i = 0; i < kWords; ++i) expected[i] = i * 2654435761u + turn;
      CHECK(device.write_buffer(buffer, 0, std::as_bytes(std::span(expected))));
      for (const uint32_t at : {0u, kWords / 3, kWords - 1}) {
        expected[at] = turn;
        CHECK(device.write_buffer(buffer, at * 4, bytes({turn})));
      }
      // Where one write ends another begins.
      const uint32_t from = kWords / 2 + turn;
      CHECK(device.write_buffer(buffer, from * 4,
                                std::as_bytes(std::span(expected)).subspan(from * 4)));
    }
    CHECK(*fetch(device, buffer, kWords) == expected);
  }
}

TEST_CASE("copies run in order between writes and reads") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const BufferId a = *device.create_buffer(16, BufferUse::kStorage, "a");
    const BufferId b = *device.create_buffer(16, BufferUse::kStorage, "b");
    CHECK(device.write_buffer(a, 0, bytes({1, 2, 3, 4})));
    CommandList list;
    list.copy(a, 4, b, 0, 8);
    list.copy(b, 0, a, 8, 8);
    list.copy(a, 0, b, 0, 0);  // nothing to copy: left out
    CHECK(list.commands().size() == 2);
    const auto first = device.submit(list);
    const auto second = device.submit(list);
    REQUIRE(second);
    CHECK(second->value == first->value + 1);
    CHECK(device.wait(*second));
    CHECK(*fetch(device, a, 4) == Words{1, 2, 2, 2});
    CHECK(*fetch(device, b, 2) == Words{2, 2});
    list.clear();
    CHECK(device.submit(list));
  }
}

TEST_CASE("each dispatch sees what the one before wrote, also across copies") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const PipelineId pipeline = *compile(device, add_one());
    const BufferId a = *device.create_buffer(4096, BufferUse::kStorage, "a");
    const BufferId b = *device.create_buffer(4096, BufferUse::kStorage, "b");
    const Binding forth[] = {{a, 256, 400}, {b, 512, 400}}, back[] = {{b, 512, 400}, {a, 256, 400}};
    const BindGroupId to_b = *device.create_bind_group(pipeline, forth);
    const BindGroupId to_a = *device.create_bind_group(pipeline, back);
    CommandList list;
    for (int i = 0; i < 5; ++i) {
      list.dispatch(pipeline, to_b, 2);
      list.dispatch(pipeline, to_a, 2);
      list.dispatch(pipeline, to_a, 0);
    }
    CHECK(list.commands().size() == 10);
    list.copy(a, 256, b, 1024, 400);
    list.dispatch(pipeline, to_b, 2);
    REQUIRE(device.submit(list));
    const auto in_b = fetch(device, b, 1024);
    REQUIRE(in_b);
    if (c.computes) {
      CHECK((*in_b)[127] == 0);
      CHECK((*in_b)[128] == 11);
      CHECK((*in_b)[227] == 11);
      CHECK((*in_b)[228] == 0);
      CHECK((*in_b)[256] == 10);
      CHECK((*in_b)[355] == 10);
    }
  }
}

TEST_CASE("a list that is submitted early runs whole and in order") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const PipelineId pipeline = *compile(device, add_one());
    const BufferId a = *device.create_buffer(256, BufferUse::kStorage, "a");
    const BufferId b = *device.create_buffer(256, BufferUse::kStorage, "b");
    const Binding forth[] = {{a, 0, 256}, {b, 0, 256}}, back[] = {{b, 0, 256}, {a, 0, 256}};
    const BindGroupId to_b = *device.create_bind_group(pipeline, forth);
    const BindGroupId to_a = *device.create_bind_group(pipeline, back);
    uint32_t expected = 0;
    for (const uint32_t n_rounds : {0u, 1u, 2u, 3u, 50u}) {
      CommandList list;
      for (uint32_t i = 0; i < n_rounds; ++i) {
        list.dispatch(pipeline, to_b, 1);
        list.dispatch(pipeline, to_a, 1);
      }
      expected += 2 * n_rounds;
      const auto end = device.submit_early(list);
      REQUIRE(end);
      CHECK(device.wait(*end));
      const auto in_a = fetch(device, a, 64);
      REQUIRE(in_a);
      if (c.computes) CHECK(*in_a == Words(64, expected));
    }
    CommandList wrong;
    for (int i = 0; i < 20; ++i) wrong.dispatch(pipeline, to_b, 1);
    wrong.dispatch(pipeline, BindGroupId{99}, 1);
    CHECK(code(device.submit_early(wrong)) == base::ErrorCode::kInvalidArgument);
    CHECK(fetch(device, a, 1));
  }
}

TEST_CASE("equal WGSL is compiled once") {
  FOR_EACH_DEVICE(c) {
    const auto first = compile(*c.device, add_one());
    auto again = add_one();
    again.label = "the same";
    CHECK(*compile(*c.device, again) == *first);
    again.wgsl += "// another\n";
    CHECK(*compile(*c.device, again) != *first);
  }
}

TEST_CASE("several kernels compile at once, and who wants one that is on its way gets it too") {
  FOR_EACH_DEVICE(c) {
    constexpr size_t kKernels = 12;
    std::vector<PipelineId> made;
    size_t n_failed = 0;
    const auto ask = [&](std::string_view more) {
      PipelineDesc desc = add_one();
      desc.wgsl += more;
      c.device->create_pipeline(std::move(desc), [&](const base::Result<PipelineId>& id) {
        if (id) made.push_back(*id);
        n_failed += !id;
      });
    };
    for (size_t i = 0; i < kKernels; ++i) {
      ask(fmt::format("// {}\n", i));
      ask(fmt::format("// {}\n", i));
      if (c.computes) ask("fn wrong( {");
    }
    const size_t n_asked = (c.computes ? 3 : 2) * kKernels;
    while (made.size() + n_failed < n_asked) c.device->poll();
    CHECK(n_failed == (c.computes ? kKernels : 0));
    std::ranges::sort(made, {}, &PipelineId::value);
    made.erase(std::ranges::unique(made).begin(), made.end());
    CHECK(made.size() == kKernels);
    CHECK(compile(*c.device, add_one()));  // and the device goes on
  }
}

TEST_CASE("a device may go while kernels are compiled") {
  FOR_EACH_DEVICE(c) {
    for (int i = 0; i < 4; ++i) {
      PipelineDesc desc = add_one();
      desc.wgsl += fmt::format("\n// going {}\n", i);
      c.device->create_pipeline(std::move(desc), [](const base::Result<PipelineId>&) {});
    }
    c.device.reset();
  }
}

TEST_CASE("a kernel that cannot be right is refused with its label") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    auto desc = add_one();
    desc.bindings = {Access::kReadWrite, Access::kReadWrite};
    CHECK(message(compile(device, desc)) ==
          "Binding 0 of kernel \"add_one\" is declared `read` in WGSL and `read_write` in its "
          "description.");
    desc.bindings = {Access::kRead};
    CHECK(message(compile(device, desc)) ==
          "Kernel \"add_one\" declares binding 1, but its description has 1 bindings.");
    desc.bindings = {Access::kRead, Access::kReadWrite, Access::kRead};
    CHECK(message(compile(device, desc)) ==
          "Kernel \"add_one\" declares 2 bindings, but its description has 3.");
    desc = {"nothing", "fn other() {}", {}};
    CHECK(message(compile(device, desc)) == "Kernel \"nothing\" has no function `main`.");
    const uint32_t limit = device.info().limits.max_storage_buffers;
    CHECK(limit >= 8);
    desc = {"many", "fn main() {}", std::vector<Access>(limit + 1, Access::kRead)};
    CHECK(message(compile(device, desc)) ==
          fmt::format("Kernel \"many\" binds {} buffers; the device allows {}.", limit + 1, limit));
    if (!c.computes) continue;
    desc = add_one();
    desc.wgsl.replace(desc.wgsl.find("+ 1u"), 4, "+ 1.5f");
    const auto made = compile(device, desc);
    CHECK(code(made) == base::ErrorCode::kDevice);
    CHECK(message(made).starts_with("Kernel \"add_one\" does not compile: "));
    CHECK(message(made).find("1.5f") != std::string::npos);
    CHECK(compile(device, add_one()));  // and the device goes on
  }
}

TEST_CASE("wrong buffers and bindings are refused with the offending value") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const Limits& limits = device.info().limits;
    CHECK(message(device.create_buffer(0, BufferUse::kStorage, "e")) ==
          "Buffer \"e\" has no bytes.");
    CHECK(code(device.create_buffer(limits.max_buffer_bytes + 4, BufferUse::kStorage, "big")) ==
          base::ErrorCode::kInvalidArgument);
    const PipelineId pipeline = *compile(device, add_one());
    const BufferId a = *device.create_buffer(1024, BufferUse::kStorage, "a");
    const BufferId b = *device.create_buffer(1022, BufferUse::kStorage, "b");  // rounded up
    const BufferId r = *device.create_buffer(1024, BufferUse::kReadback, "r");
    const auto bind = [&](Binding x, Binding y) {
      const Binding both[] = {x, y};
      return message(device.create_bind_group(pipeline, both));
    };
    CHECK(bind({a, 0, 1024}, {b, 0, 1024}) == "no error");
    CHECK(bind({a, 128, 256}, {b, 0, 4}) ==
          "Binding 0 of kernel \"add_one\" to buffer \"a\" starts at byte 128, which is not a "
          "multiple of 256.");
    CHECK(bind({a, 0, 4}, {b, 0, 6}) ==
          "Binding 1 of kernel \"add_one\" to buffer \"b\" has 6 bytes, which is not a positive "
          "multiple of 4.");
    CHECK(bind({a, 256, 1024}, {b, 0, 4}) ==
          "Binding 0 of kernel \"add_one\" to buffer \"a\" covers bytes 256 to 1280, but the "
          "buffer has 1024.");
    CHECK(
        bind({a, 0, 4}, {r, 0, 4}) ==
        "Binding 1 of kernel \"add_one\" to buffer \"r\" is refused: the buffer is for read-back.");
    CHECK(bind({a, 0, 4}, {{99}, 0, 4}) ==
          "There is no buffer 99; it was never made, or is destroyed.");
    CHECK(bind({a, 0, limits.max_binding_bytes + 4}, {b, 0, 4})
              .find("above the device's limit for one binding") != std::string::npos);
    const Binding one[] = {{a, 0, 4}};
    CHECK(message(device.create_bind_group(pipeline, one)) ==
          "Kernel \"add_one\" has 2 bindings and is given 1.");
    CHECK(code(device.create_bind_group({77}, one)) == base::ErrorCode::kInvalidArgument);
    CHECK(code(device.write_buffer(a, 1020, bytes({1, 2}))) == base::ErrorCode::kInvalidArgument);
    CHECK(code(device.write_buffer(a, 2, bytes({1}))) == base::ErrorCode::kInvalidArgument);
    CHECK(code(device.write_buffer(r, 0, bytes({1}))) == base::ErrorCode::kInvalidArgument);
    CHECK(code(read(device, a, 1)) == base::ErrorCode::kInvalidArgument);
    CHECK(code(read(device, r, 2, 1020)) == base::ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("a command list that names what is gone or wrong is refused whole") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const PipelineId pipeline = *compile(device, add_one());
    auto second_desc = add_one();
    second_desc.wgsl += "// second\n";
    const PipelineId other = *compile(device, second_desc);
    const BufferId a = *device.create_buffer(256, BufferUse::kStorage, "a");
    const BufferId b = *device.create_buffer(256, BufferUse::kStorage, "b");
    const Binding both[] = {{a, 0, 256}, {b, 0, 256}};
    const BindGroupId group = *device.create_bind_group(pipeline, both);
    CommandList list;
    const auto refuse = [&] {
      const auto result = code(device.submit(list));
      list.clear();
      return result == base::ErrorCode::kInvalidArgument;
    };
    list.dispatch(pipeline, {55}, 1);
    CHECK(refuse());
    list.dispatch({55}, group, 1);
    CHECK(refuse());
    list.dispatch(other, group, 1);
    CHECK(refuse());
    list.dispatch(pipeline, group, 1);
    list.dispatch(pipeline, group, 70000);
    CHECK(refuse());
    list.copy(a, 0, a, 128, 64);
    CHECK(refuse());
    list.copy(a, 0, b, 248, 16);
    CHECK(refuse());
    list.copy(a, 0, b, 0, 6);
    CHECK(refuse());
    const BindGroupId dropped = *device.create_bind_group(pipeline, both);
    device.destroy_bind_group(dropped);
    device.destroy_bind_group(dropped);
    list.dispatch(pipeline, dropped, 1);
    CHECK(refuse());
    list.dispatch(pipeline, group, 1);
    CHECK(device.submit(list));
    device.destroy_buffer(b);  // while in use
    device.destroy_buffer(b);
    CHECK(refuse());
    list.copy(a, 0, b, 0, 4);
    CHECK(refuse());
    CHECK(device.submit(list));
    CHECK(code(device.wait({1000})) == base::ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("several reads are in flight at once, each of its own buffer") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const BufferId a = *device.create_buffer(16, BufferUse::kStorage, "a");
    constexpr size_t kDepth = 4;
    std::array<BufferId, kDepth> staging;
    std::array<Words, kDepth> words;
    std::vector<size_t> order;
    for (size_t i = 0; i < kDepth; ++i) {
      staging[i] = *device.create_buffer(16, BufferUse::kReadback, "staging");
      words[i].assign(2, 0);
      CHECK(device.write_buffer(a, 0, bytes({static_cast<uint32_t>(i + 7), 0, 0, 5})));
      CommandList list;
      list.copy(a, 0, staging[i], 0, 16);
      REQUIRE(device.submit(list));
      device.read_back(staging[i], 8, std::as_writable_bytes(std::span(words[i])),
                       [&order, i](base::Result<void> result) {
                         CHECK(result);
                         order.push_back(i);
                       });
      if (i == 0) {
        CHECK(message(read(device, staging[0], 2)) == "Buffer \"staging\" is already being read.");
        CHECK(message(device.submit(list)) ==
              "A copy from buffer \"a\" to \"staging\" is refused: the destination is being read.");
      }
    }
    while (order.size() < kDepth) device.poll();
    CHECK(order == std::vector<size_t>{0, 1, 2, 3});
    for (const Words& w : words) CHECK(w == Words{0, 5});
    CHECK(*read(device, staging[3], 4) == Words{10, 0, 0, 5});
    CHECK(*read(device, staging[1], 1) == Words{8});
  }
}

TEST_CASE("a callback may use the device, and a destroyed buffer's read fails") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const BufferId r = *device.create_buffer(16, BufferUse::kReadback, "r");
    const BufferId gone = *device.create_buffer(16, BufferUse::kReadback, "gone");
    Words words(4), again(4);
    int n_done = 0;
    device.read_back(gone, 0, std::as_writable_bytes(std::span(words)),
                     [&](base::Result<void> result) {
                       CHECK_FALSE(result);
                       ++n_done;
                     });
    device.destroy_buffer(gone);
    device.read_back(r, 0, std::as_writable_bytes(std::span(words)), [&](base::Result<void> first) {
      CHECK(first);
      CHECK(device.submit({}));
      device.read_back(r, 0, std::as_writable_bytes(std::span(again)),
                       [&](base::Result<void> second) {
                         CHECK(second);
                         ++n_done;
                       });
    });
    while (n_done < 2) device.poll();
    device.poll();  // nothing is outstanding: returns at once
  }
}

TEST_CASE("a read may be outstanding when its device goes") {
  FOR_EACH_DEVICE(c) {
    const BufferId r = *c.device->create_buffer(16, BufferUse::kReadback, "r");
    Words words(4);
    bool called = false;
    c.device->read_back(r, 0, std::as_writable_bytes(std::span(words)),
                        [&](base::Result<void>) { called = true; });
    c.device.reset();
    CHECK_FALSE(called);
  }
}

TEST_CASE(
    "a buffer both read and written by a dispatch never reaches the GPU, and the device goes on") {
  FOR_EACH_DEVICE(c) {
    Device& device = *c.device;
    const PipelineId pipeline = *compile(device, add_one());
    const BufferId a = *device.create_buffer(1024, BufferUse::kStorage, "a");
    const Binding both[] = {{a, 0, 256}, {a, 512, 256}};
    const auto group = device.create_bind_group(pipeline, both);
    CommandList list;
    if (group) list.dispatch(pipeline, *group, 1);
    CHECK_FALSE((group && device.submit(list)));
    CHECK(device.submit({}));
  }
}

TEST_CASE("native adapters come real ones first and state what they offer") {
  const auto adapters = native::adapters();
  REQUIRE(adapters);
  bool software = false;
  for (const auto& adapter : *adapters) {
    CHECK(adapter.info.name != "");
    CHECK(adapter.info.backend != "other");
    CHECK_FALSE((software && adapter.info.type != AdapterType::kSoftware));
    software = software || adapter.info.type == AdapterType::kSoftware;
  }
  CHECK(code(native::open(adapters->size())) ==
        (adapters->empty() ? code(native::open(0)) : base::ErrorCode::kNotFound));
}

TEST_CASE("the probes fill in subgroup sizes and check dot4I8Packed; baseline hides all of it") {
  if (native::adapters()->empty()) {
    MESSAGE("SKIPPED: there is no native adapter");
    return;
  }
  const auto device = native::open(0);
  REQUIRE(device);
  const DeviceInfo& info = (*device)->info();
  CHECK(info.subgroups == (info.subgroup_min > 0));
  CHECK(info.subgroup_min <= info.subgroup_max);
  CHECK(info.limits.max_binding_bytes >= 128u << 20);
  if (info.f16) {
    PipelineDesc desc{
        "half",
        wgsl_header(info) +
            "@group(0) @binding(0) var<storage, read_write> y: array<vec2<f16>>;\n"
            "@compute @workgroup_size(1) fn main() { y[0] = vec2<f16>(1.5h, -2.0h); }",
        {Access::kReadWrite}};
    const PipelineId pipeline = *compile(**device, desc);
    const BufferId buffer = *(*device)->create_buffer(4, BufferUse::kStorage, "y");
    const Binding binding{buffer, 0, 4};
    CommandList list;
    list.dispatch(pipeline, *(*device)->create_bind_group(pipeline, std::span(&binding, 1)), 1);
    REQUIRE((*device)->submit(list));
    CHECK(*fetch(**device, buffer, 1) == Words{0xc0003e00});
  }
  const auto baseline = native::open(0, {.baseline = true});
  REQUIRE(baseline);
  const DeviceInfo& least = (*baseline)->info();
  CHECK_FALSE((least.f16 || least.subgroups || least.dot4 || least.subgroup_matrix));
  CHECK(least.limits.max_buffer_bytes == 256u << 20);
  CHECK(least.limits.max_workgroup_bytes == 16384);
  CHECK(compile(**baseline, add_one()));
}
