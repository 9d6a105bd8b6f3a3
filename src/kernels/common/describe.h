// Describe: writes one KernelCall line by line. The number of each binding reaches the template as
// a define, so that C++ and WGSL cannot disagree on it:
//   Describe(args.label, "norm/norm.wgsl")
//       .arena("B_X", args.x)
//       .constant("B_GAMMA", *args.gamma)
//       .number("N", args.n)
//       .grid({Extent::kTokens})
//       .add_to(out);
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/call.h"

namespace puna::kernels {

class Describe {
 public:
  Describe(std::string label, std::string_view kernel) {
    call_.label = std::move(label);
    call_.kernel = kernel;
  }

  const std::string& label() const { return call_.label; }

  // A slice of a buffer that no kernel of the step writes: weights, tables, the step, the page
  // table; KV when only read.
  Describe& constant(std::string_view name, const Slice& slice) {
    return bind(name, slice, gpu::Access::kRead);
  }
  // A slice of a buffer that kernels write. Read-only uses too: WebGPU refuses a buffer bound both
  // ways in one dispatch.
  Describe& arena(std::string_view name, const Slice& slice) {
    return bind(name, slice, gpu::Access::kReadWrite);
  }

  Describe& number(std::string_view name, uint64_t value) {
    return text(name, std::to_string(value));
  }
  // Nine digits give the same float back.
  Describe& real(std::string_view name, float value) {
    return text(name, fmt::format("{:.9g}f", value));
  }
  Describe& flag(std::string_view name) { return text(name, "1"); }
  Describe& text(std::string_view name, std::string value) {
    call_.defines.insert_or_assign(std::string(name), std::move(value));
    return *this;
  }

  Describe& grid(GridDim x, GridDim y = {}, GridDim z = {}) {
    call_.x = x;
    call_.y = y;
    call_.z = z;
    return *this;
  }

  void add_to(std::vector<KernelCall>& out) { out.push_back(std::move(call_)); }

 private:
  Describe& bind(std::string_view name, const Slice& slice, gpu::Access access) {
    number(name, call_.bindings.size());
    call_.bindings.push_back({slice, access});
    return *this;
  }

  KernelCall call_;
};

inline uint32_t div_up(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

}  // namespace puna::kernels
