// Which of the kernels compiled into this binary run: names for Highway's targets, declared in
// matmul/cpu_matrix.h.
#include "kernels/common/cpu_variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hwy/highway.h"
#include "hwy/targets.h"
#include "kernels/matmul/cpu_matrix.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {
namespace {

struct Variant {
  std::string_view name;
  int64_t target;
  CpuExtensions extensions = {};
  bool (*processor_has_them)() = [] { return true; };
};

// Best first. The target that the compiler's own flags guarantee is "portable" on x86.
constexpr Variant kVariants[] = {
#if HWY_ARCH_X86
    {"amx_bf16", HWY_AVX3_DL, {.int8_matrix = true, .bf16_matrix = true}, bf16_matrix_runs_here},
    {"amx_int8", HWY_AVX3_DL, {.int8_matrix = true}, int8_matrix_runs_here},
    {"avx512_bf16", HWY_AVX3_DL, {.bf16 = true}, bf16_products_run_here},
    {"avx512_vnni", HWY_AVX3_DL},
    {"avx2", HWY_AVX2},
#elif HWY_ARCH_ARM
    {"neon_i8mm",
     HWY_NEON_WITHOUT_AES,
     {.int8_matrix = true, .dot_products = true},
     int8_matrix_runs_here},
    {"neon_dotprod", HWY_NEON_WITHOUT_AES, {.dot_products = true}, dot_products_run_here},
    {"neon", HWY_NEON_WITHOUT_AES},
#elif HWY_ARCH_WASM && defined(__wasm_relaxed_simd__)
    {"wasm_relaxed_simd", HWY_WASM},
#elif HWY_ARCH_WASM
    {"wasm_simd128", HWY_WASM},
#endif
    {"portable", HWY_STATIC_TARGET},
};

const Variant* forced = nullptr;

bool runs_here(const Variant& variant) {
  return (hwy::SupportedTargets() & HWY_TARGETS & variant.target) != 0 &&
         variant.processor_has_them();
}

// Those that run here, each once: the compiler's own flags may allow one that has a name already.
std::vector<const Variant*> variants() {
  std::vector<const Variant*> all;
  for (const Variant& variant : kVariants) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Variant* other) {
      return other->target == variant.target && other->extensions == variant.extensions;
    });
    if (runs_here(variant) && !known) all.push_back(&variant);
  }
  return all;
}

const Variant& running() {
  static const Variant* const kBest = variants().front();
  return forced ? *forced : *kBest;
}

}  // namespace

std::vector<std::string_view> cpu_variants() {
  if (forced) hwy::SetSupportedTargetsForTest(0);
  std::vector<std::string_view> names;
  for (const Variant* variant : variants()) names.push_back(variant->name);
  if (forced) hwy::SetSupportedTargetsForTest(forced->target);
  return names;
}

base::Result<void> set_cpu_variant(std::string_view name) {
  const std::vector<std::string_view> names = cpu_variants();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("CPU variant \"{}\" is not one of those that run here ({}).",
                                  name, fmt::join(names, ", ")));
  }
  forced = std::find_if(std::begin(kVariants), std::end(kVariants),
                        [&](const Variant& v) { return v.name == name; });
  hwy::SetSupportedTargetsForTest(forced->target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return {};
}

std::string_view cpu_variant() { return running().name; }
const CpuExtensions& cpu_extensions() { return running().extensions; }

}  // namespace puna::kernels
