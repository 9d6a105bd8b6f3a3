#include "gpu/quirks.h"

#include <algorithm>

namespace puna::gpu {
namespace {

constexpr Quirk kQuirks[] = {
    {
        .name = "metal-has-no-dot4",
        .when = "backend metal",
        .why = "The Metal shading language has no packed int8 dot product: dot4I8Packed becomes "
               "four multiplications, "
               "slower than f16.",
        .link = "https://developer.apple.com/metal/Metal-Shading-Language-Specification.pdf",
        .applies = [](const DeviceInfo& info) { return info.backend == "metal"; },
        .apply = [](DeviceInfo& info) { info.dot4 = false; },
    },
    {
        .name = "intel-subgroup-size-varies",
        .when = "vendor intel, with subgroups",
        .why = "The compiler chooses 8, 16 or 32 for each kernel, so the size that one kernel saw "
               "says nothing about another.",
        .link = "https://registry.khronos.org/vulkan/specs/latest/man/html/"
                "VK_EXT_subgroup_size_control.html",
        .applies = [](const DeviceInfo& info) { return info.subgroups && info.vendor == "intel"; },
        .apply =
            [](DeviceInfo& info) {
              info.subgroup_min = std::min(info.subgroup_min, 8u);
              info.subgroup_max = std::max(info.subgroup_max, 32u);
            },
    },
    {
        .name = "amd-subgroup-size-varies",
        .when = "vendor amd, with subgroups",
        .why = "RDNA compiles a kernel for waves of 32 or of 64, at the driver's choice.",
        .link = "https://registry.khronos.org/vulkan/specs/latest/man/html/"
                "VK_EXT_subgroup_size_control.html",
        .applies = [](const DeviceInfo& info) { return info.subgroups && info.vendor == "amd"; },
        .apply =
            [](DeviceInfo& info) {
              info.subgroup_min = std::min(info.subgroup_min, 32u);
              info.subgroup_max = std::max(info.subgroup_max, 64u);
            },
    },
    {
        .name = "software-adapters-compile-slowly",
        .when = "software adapters (SwiftShader, llvmpipe)",
        .why = "Kernels with barriers and many branches take seconds to minutes to compile, and "
               "short loops become many branches.",
        .link = "https://llvm.org/docs/Coroutines.html",
        .applies = [](const DeviceInfo& info) { return info.type == AdapterType::kSoftware; },
        .apply = [](DeviceInfo& info) { info.slow_compiler = true; },
    },
};

}  // namespace

std::span<const Quirk> quirks() { return kQuirks; }

std::vector<std::string_view> apply_quirks(DeviceInfo& info) {
  std::vector<std::string_view> names;
  for (const Quirk& quirk : kQuirks) {
    if (!quirk.applies(info)) continue;
    quirk.apply(info);
    names.push_back(quirk.name);
  }
  return names;
}

void hide_features(DeviceInfo& info) {
  info.f16 = info.subgroups = info.dot4 = info.subgroup_matrix = info.shares_memory = false;
  info.matrix = {};
  info.subgroup_min = info.subgroup_max = 0;
  const Limits baseline;
  Limits& limits = info.limits;
  limits.max_buffer_bytes = std::min(limits.max_buffer_bytes, baseline.max_buffer_bytes);
  limits.max_binding_bytes = std::min(limits.max_binding_bytes, baseline.max_binding_bytes);
  limits.max_storage_buffers = std::min(limits.max_storage_buffers, baseline.max_storage_buffers);
  limits.max_workgroup_bytes = std::min(limits.max_workgroup_bytes, baseline.max_workgroup_bytes);
  limits.max_workgroup_invocations =
      std::min(limits.max_workgroup_invocations, baseline.max_workgroup_invocations);
  limits.max_workgroups_per_dimension =
      std::min(limits.max_workgroups_per_dimension, baseline.max_workgroups_per_dimension);
}

}  // namespace puna::gpu
