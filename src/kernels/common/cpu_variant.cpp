// Which of the kernels compiled into this binary run: names for Highway's targets, declared in
// matmul/cpu_matrix.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hwy/highway.h"
#include "hwy/targets.h"
#include "kernels/matmul/cpu_matrix.h"

namespace puna::kernels {
namespace {

struct Variant {
  std::string_view name;
  int64_t target;
};

// Best first. The target that the compiler's own flags guarantee is "portable" on x86.
constexpr Variant kVariants[] = {
#if HWY_ARCH_X86
    {"avx512_vnni", HWY_AVX3_DL},
    {"avx2", HWY_AVX2},
#elif HWY_ARCH_ARM
    {"neon_bf16", HWY_NEON_BF16},
    {"neon", HWY_NEON_WITHOUT_AES},
#elif HWY_ARCH_WASM && defined(__wasm_relaxed_simd__)
    {"wasm_relaxed_simd", HWY_WASM},
#elif HWY_ARCH_WASM
    {"wasm_simd128", HWY_WASM},
#endif
    {"portable", HWY_STATIC_TARGET},
};

int64_t chosen = 0;  // 0 = whatever Highway takes

bool runs_here(const Variant& variant) {
  return (hwy::SupportedTargets() & HWY_TARGETS & variant.target) != 0;
}

}  // namespace

std::vector<std::string_view> cpu_variants() {
  if (chosen != 0) hwy::SetSupportedTargetsForTest(0);
  std::vector<std::string_view> names;
  int64_t seen = 0;
  for (const Variant& variant : kVariants) {
    if (!runs_here(variant) || (seen & variant.target) != 0) continue;
    seen |= variant.target;
    names.push_back(variant.name);
  }
  if (chosen != 0) hwy::SetSupportedTargetsForTest(chosen);
  return names;
}

base::Result<void> set_cpu_variant(std::string_view name) {
  const std::vector<std::string_view> names = cpu_variants();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("CPU variant \"{}\" is not one of those that run here ({}).",
                                  name, fmt::join(names, ", ")));
  }
  chosen = std::find_if(std::begin(kVariants), std::end(kVariants), [&](const Variant& v) {
             return v.name == name;
           })->target;
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return {};
}

std::string_view cpu_variant() {
  for (const Variant& variant : kVariants) {
    if (runs_here(variant) && (chosen == 0 || chosen == variant.target)) return variant.name;
  }
  return "portable";
}

}  // namespace puna::kernels
