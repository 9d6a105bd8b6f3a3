#include "gpu/native/choose_library.h"

#include <fmt/format.h>

namespace puna::gpu::native {
namespace {

// Decoding is level between the two in bench/results/h200-beside-llamacpp-cuda.txt, and models load
// sooner with wgpu-native, which takes less time to compile (docs/decisions/one-binary.md).
constexpr LibraryKind kWithoutMatrixUnits = LibraryKind::kWgpuNative;
constexpr std::string_view kWhyWithoutMatrixUnits =
    "there are no matrix units to gain, and it loads models sooner than Dawn";

// Prefill of 512 tokens with Dawn against wgpu-native, all models of the same file.
constexpr std::string_view kGain = "1.6 to 6.0 times as fast on an H200";

}  // namespace

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
  if (info.type == AdapterType::kSoftware || info.backend != "vulkan" || !info.f16) return {};
  // NVIDIA's cards have had f16 in Vulkan and matrix units from the same generation on; of the
  // others only some that have f16 have them, which wgpu-native does not tell.
  const bool surely = info.vendor == "nvidia";
  if (!surely && info.vendor != "amd" && info.vendor != "intel") return {};
  return fmt::format(
      "{} idle; with Dawn, which reaches them, prompts are evaluated {}: `make dawn` builds it, "
      "`tools/setup --dawn-wheel` fetches it",
      surely ? "its matrix units are" : "if it has matrix units, they are", kGain);
}

}  // namespace puna::gpu::native
