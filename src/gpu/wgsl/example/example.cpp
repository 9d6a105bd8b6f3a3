// The smallest program that uses wgslpp: expands one shader for a tile size given on the command
// line and prints it.
//   c++ -std=c++20 -I .. example.cpp -o example && ./example 8
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "wgsl_preprocessor.h"

namespace {

constexpr std::string_view kShared = R"(
// A row times a scalar, summed into the accumulators.
#define MULTIPLY_ADD(acc, row, scalar) acc = fma(row, vec4<f32>(scalar), acc)
)";

constexpr std::string_view kShader = R"(
#include "shared.wgsl"
#ifndef TILE
#define TILE 4
#endif
#if TILE % 4 != 0
#error TILE must be a multiple of 4
#endif
@group(0) @binding(0) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> sum: array<vec4<f32>>;

@compute @workgroup_size(TILE)
fn main(@builtin(local_invocation_id) id: vec3<u32>) {
#for i in 0..TILE / 4
  var acc_##i = vec4<f32>(0.0);
  MULTIPLY_ADD(acc_##i, a[id.x * TILE + i], 2.0);
  sum[id.x * TILE + i] = acc_##i;
#endfor
}
)";

}  // namespace

int main(int argc, char** argv) {
  wgslpp::Options options;
  options.defines["TILE"] = argc > 1 ? argv[1] : "4";
  options.include = [](std::string_view path) -> std::optional<std::string> {
    if (path == "shared.wgsl") return std::string(kShared);
    return std::nullopt;
  };
  const wgslpp::Output out = wgslpp::expand(kShader, "scale.wgsl", options);
  if (!out.ok()) {
    std::fprintf(stderr, "error: %s\n", out.error.c_str());
    return 1;
  }
  std::fputs(out.text.c_str(), stdout);
}
