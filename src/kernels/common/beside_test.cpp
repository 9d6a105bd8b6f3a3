#include "kernels/common/beside.h"

#include <doctest/doctest.h>

#include <array>

namespace puna::kernels {
namespace {

constexpr Slice kX{0, 0, 256}, kY{0, 256, 256}, kA{1, 0, 512}, kB{2, 0, 512};
constexpr auto kRead = gpu::Access::kRead, kWrite = gpu::Access::kReadWrite;

KernelCall product(std::string label, Slice weight, uint32_t workgroups) {
  KernelCall call{std::move(label), "matmul/matvec.wgsl", {{"WG", "64"}}, {}, {}, {}, {}};
  call.bindings = {{weight, kRead}, {kX, kRead}, {kY, kWrite}};
  call.x.mul = workgroups;
  return call;
}

KernelCall pair() { return *beside({}, product("q", kA, 5), product("v", kB, 3)); }

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("two calls become one, the second behind the first, with what both bind once") {
  const KernelCall both = pair();
  CHECK(both.label == "q+v");
  CHECK(both.x.mul == 8);
  REQUIRE(both.beside.size() == 1);
  CHECK(both.beside[0].first_x == 5);
  CHECK(both.beside[0].bindings == std::vector<uint32_t>{3, 1, 2});
  REQUIRE(both.bindings.size() == 4);
  CHECK(both.bindings[3].slice == kB);
  const auto three = beside({}, both, product("g", kB, 2));
  REQUIRE(three);
  CHECK(three->beside[1].first_x == 8);
  CHECK(three->beside[1].bindings == std::vector<uint32_t>{3, 1, 2});
}

TEST_CASE("calls of other templates, sizes or grids stay apart") {
  const KernelCall q = product("q", kA, 5);
  const auto refused = [&](auto change) {
    KernelCall v = product("v", kB, 3);
    change(v);
    return !beside({}, q, v);
  };
  CHECK_FALSE(refused([](KernelCall&) {}));
  CHECK(refused([](KernelCall& v) { v.kernel = "norm/norm.wgsl"; }));
  CHECK(refused([](KernelCall& v) { v.defines["WG"] = "128"; }));
  CHECK(refused([](KernelCall& v) { v.x.extent = Extent::kTokens; }));
  CHECK(refused([](KernelCall& v) { v.y.mul = 2; }));
  CHECK(refused([](KernelCall& v) { v.z.extent = Extent::kTokens; }));
  CHECK(refused([](KernelCall& v) { v.x.mul = 65535; }));
  CHECK(refused([](KernelCall& v) {
    for (uint32_t i = 0; i < 6; ++i) v.bindings.push_back({{7, i * 256, 256}, kRead});
  }));
}

constexpr std::string_view kText = R"(
// What it declares.
struct Group { d: u32, x: f32 }
const ROWS = 20u;
@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
var<workgroup> partial: array<f32, 64>;
fn half(v: f32) -> f32 { return 0.5 * v; }
fn load(i: u32) -> Group { return Group(weights[i], half(x[i])); }
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  partial[local] = load(local).x;  // x the member, not the binding
  workgroupBarrier();
  if (wid.x * 4u < ROWS) { y[ROWS] = partial[0]; }
}
)";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST_CASE("texts are joined: declared once what is alike, anew what differs or uses it") {
  const std::string first(kText);
  const std::string second = replaced(first, "ROWS = 20u", "ROWS = 12u");
  const auto joined = join(pair(), std::array{first, second});
  REQUIRE(joined);
  const std::string& text = *joined;
  CHECK(contains(text, "const ROWS = 20u;"));
  CHECK(contains(text, "const ROWS_1 = 12u;"));
  CHECK(contains(text, "@binding(3) var<storage, read> weights_1: array<u32>;"));
  CHECK(contains(text, "fn load_1(i: u32) -> Group { return Group(weights_1[i], half(x[i])); }"));
  CHECK(contains(text, "partial[local] = load_1(local).x;"));
  CHECK(contains(text, "if (wid.x * 4u < ROWS_1) { y[ROWS_1] = partial[0]; }"));
  for (const char* once : {"half_1", "Group_1", "partial_1", "y_1", "x_1", "main_2", "//"})
    CHECK_FALSE(contains(text, once));
  CHECK(
      contains(text, "if (wid.x < 5u) { main_0(vec3<u32>(wid.x - 0u, wid.y, wid.z), local, ); }"));
  CHECK(contains(text, "else { main_1(vec3<u32>(wid.x - 5u, wid.y, wid.z), local, ); }"));
}

TEST_CASE("members of a struct keep their names when it gets another") {
  const std::string first(kText);
  const std::string second =
      replaced(first, "{ d: u32, x: f32 }", "{ d: u32, x: f32, weights: u32 }");
  const auto joined = join(pair(), std::array{first, second});
  REQUIRE(joined);
  CHECK(contains(*joined, "struct Group_1 { d: u32, x: f32, weights: u32 }"));
}

TEST_CASE("one buffer as two types, and workgroups of two sizes, are errors") {
  const std::string first(kText);
  CHECK_FALSE(join(pair(), std::array{first, replaced(first, "y: array<f32>", "y: array<u32>")}));
  CHECK_FALSE(join(pair(), std::array{first, replaced(first, "size(64)", "size(32)")}));
  CHECK_FALSE(join(pair(), std::array{first, replaced(first, "fn main(", "fn other(")}));
}

}  // namespace
}  // namespace puna::kernels
