// Writes the WGSL of every kernel variant, for a compiler to try (tools/check_wgsl_in_chromium).
//   puna_dump_wgsl [tint|naga] > texts.json
// JSON: [{kernel, label, device, features: ["subgroups", "shader-f16"], bindings: "rrw" (read or
// write, by number), wgsl}], each text once.
#include <fmt/format.h>

#include <set>
#include <string>

#include "base/json.h"
#include "kernels/testing/every_call.h"

using namespace puna;

namespace {

base::Result<base::Json> dump(gpu::Dialect dialect) {
  base::Json out = base::Json::array();
  std::set<std::string> seen;
  for (const gpu::DeviceInfo& device : kernels::test::every_device(dialect)) {
    PUNA_TRY(const std::vector<kernels::KernelCall> calls, kernels::test::every_call(device));
    for (const kernels::KernelCall& call : calls) {
      PUNA_TRY(std::string text, kernels::expand(call, device));
      if (!seen.insert(text).second) continue;
      std::string bindings;
      for (const kernels::BoundSlice& bound : call.bindings)
        bindings += bound.access == gpu::Access::kRead ? 'r' : 'w';
      base::Json features = base::Json::array();
      if (device.subgroups) features.push("subgroups");
      if (device.f16) features.push("shader-f16");
      base::Json one = base::Json::object();
      one.set("kernel", call.kernel).set("label", call.label).set("device", device.name);
      one.set("features", std::move(features)).set("bindings", bindings);
      one.set("wgsl", std::move(text));
      out.push(std::move(one));
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view dialect = argc > 1 ? argv[1] : "tint";
  if (argc > 2 || (dialect != "tint" && dialect != "naga")) {
    fmt::print(stderr, "error: usage: puna_dump_wgsl [tint|naga]\n");
    return 2;
  }
  const auto texts = dump(dialect == "tint" ? gpu::Dialect::kTint : gpu::Dialect::kNaga);
  if (!texts) {
    fmt::print(stderr, "error: {}\n", texts.error().text());
    return 1;
  }
  fmt::print("{}\n", texts->dump());
  return 0;
}
