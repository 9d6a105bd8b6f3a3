#include "gpu/native/choose_library.h"

#include <fmt/format.h>

namespace puna::gpu::native {
namespace {

// Without matrix units both run the same kernels, equally fast; wgpu-native opens a device and
// compiles sooner (bench/results/two-libraries.txt).
constexpr LibraryKind kWithoutMatrixUnits = LibraryKind::kWgpuNative;
constexpr std::string_view kWhyWithoutMatrixUnits =
    "there are no matrix units to gain, and it loads models sooner than Dawn";

// Prompts of 512 tokens, Dawn against wgpu-native, over the models and weight types of
// bench/results/two-libraries.txt.
constexpr std::string_view kGain = "1.6 to 5.9 times as fast";

}  // namespace

std::string_view name(LibraryKind kind) {
  return kind == LibraryKind::kDawn ? "Dawn" : "wgpu-native";
}

LibraryChoice choose_library(const DeviceInfo* dawn, const DeviceInfo* wgpu_native) {
  if (dawn == nullptr || wgpu_native == nullptr) {
    return {dawn ? LibraryKind::kDawn : LibraryKind::kWgpuNative,
            "the only library here that offers it"};
  }
  if (dawn->matrix.m != 0) {
    return {LibraryKind::kDawn, fmt::format("it reaches the matrix units ({}x{}x{})",
                                            dawn->matrix.m, dawn->matrix.n, dawn->matrix.k)};
  }
  return {kWithoutMatrixUnits, std::string(kWhyWithoutMatrixUnits)};
}

std::string advise_dawn(const DeviceInfo& info) {
  if (info.type == AdapterType::kSoftware) return {};
  return fmt::format(
      "its matrix units are idle: with Dawn prompts are evaluated {}; `make dawn` builds it, "
      "`tools/setup --dawn-wheel` fetches it",
      kGain);
}

}  // namespace puna::gpu::native
