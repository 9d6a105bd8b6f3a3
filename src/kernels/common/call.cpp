// Templates compiled into the program, and their expansion for a device.
#include "kernels/common/call.h"

#include <fmt/format.h>

#include <optional>
#include <span>

#include "base/embedded.h"
#include "gpu/wgsl/wgsl_preprocessor.h"
#include "kernels/common/beside.h"
#include "kernels/common/weight_defines.h"
#include "quant/planes.h"

std::span<const puna::base::EmbeddedFile> puna_kernels_wgsl();  // made by puna_embed

namespace puna::kernels {
namespace {

void add_device_defines(const gpu::DeviceInfo& device,
                        std::map<std::string, std::string, std::less<>>& defines) {
  const auto add = [&](std::string_view name, uint32_t value) {
    defines.try_emplace(std::string(name), std::to_string(value));
  };
  add("F16", device.f16);
  add("SUBGROUPS", device.subgroups);
  add("SUBGROUP_MIN", device.subgroup_min);
  add("ROLLED", device.slow_compiler);
  add("SUBGROUP_MAX", device.subgroup_max);
  add("SUBGROUP_MATRIX", device.subgroup_matrix);
  add("MATRIX_M", device.matrix.m);
  add("MATRIX_N", device.matrix.n);
  add("MATRIX_K", device.matrix.k);
  add("MATRIX_F32", device.matrix.f32);
  add("DOT4", device.dot4);
  add("DIALECT_TINT", device.dialect == gpu::Dialect::kTint);
}

// Includes `file` of the weight type whose define is given.
template <class File>
std::string include_by_type(const File& file) {
  std::string text;
  for (const quant::TypeInfo& type : quant::types()) {
    text +=
        fmt::format("#ifdef {}\n#include \"{}\"\n#endif\n", weight_define(type.type), file(type));
  }
  return text;
}

// quant/types.wgsl: what reads weights of the type.
std::string_view decoders() {
  static const std::string kText = include_by_type(
      [](const quant::TypeInfo& type) { return fmt::format("quant/{}.wgsl", type.name); });
  return kText;
}
// repack/types.wgsl: what takes the file's blocks of the type apart.
std::string_view repackers() {
  static const std::string kText = include_by_type(
      [](const quant::TypeInfo& type) { return quant::planes_of(type.type).repack; });
  return kText;
}

}  // namespace

uint32_t workgroups(const GridDim& dim, const StepShape& shape) {
  uint64_t extent = 1;
  if (dim.extent == Extent::kTokens) extent = shape.n_tokens;
  if (dim.extent == Extent::kOutputs) extent = shape.n_outputs;
  if (dim.extent == Extent::kSplits) extent = shape.n_splits > 1 ? shape.n_splits : 0;
  if (dim.extent == Extent::kIfSplit) extent = shape.n_splits > 1 ? 1 : 0;
  if (dim.extent == Extent::kIfWhole) extent = shape.n_splits > 1 ? 0 : 1;
  if (dim.extent == Extent::kSingles) extent = shape.n_singles;
  if (dim.extent == Extent::kOthers) extent = shape.n_tokens - shape.n_singles;
  if (dim.extent == Extent::kIfCut) extent = shape.cuts ? 1 : 0;
  return static_cast<uint32_t>((extent * dim.mul + dim.div - 1) / dim.div + dim.add);
}

std::string_view wgsl_source(std::string_view path) {
  if (path == "quant/types.wgsl") return decoders();
  if (path == "repack/types.wgsl") return repackers();
  constexpr std::string_view kRoom = "kernels/";
  for (const base::EmbeddedFile& file : puna_kernels_wgsl()) {
    if (file.name == path) return file.text;
    if (file.name.starts_with(kRoom) && file.name.substr(kRoom.size()) == path) return file.text;
  }
  return {};
}

base::Result<std::string> expand(const KernelCall& call, const gpu::DeviceInfo& device) {
  const std::string_view source = wgsl_source(call.kernel);
  if (source.empty()) {
    return base::fail(
        base::ErrorCode::kInternal,
        fmt::format("Kernel template \"{}\" of {} is not compiled into this program; list it "
                    "in src/kernels/CMakeLists.txt.",
                    call.kernel, call.label));
  }
  const auto expand_with =
      [&](const std::map<std::string, std::string>& defines) -> base::Result<std::string> {
    wgslpp::Options options;
    options.defines.insert(defines.begin(), defines.end());
    add_device_defines(device, options.defines);
    options.include = [](std::string_view path) -> std::optional<std::string> {
      const std::string_view text = wgsl_source(path);
      return text.empty() ? std::nullopt : std::optional(std::string(text));
    };
    wgslpp::Output out = wgslpp::expand(source, call.kernel, options);
    if (!out.ok()) {
      return base::fail(base::ErrorCode::kInternal,
                        fmt::format("WGSL of {} does not expand: {}", call.label, out.error));
    }
    return std::move(out.text);
  };
  PUNA_TRY(std::string text, expand_with(call.defines));
  if (call.beside.empty()) return gpu::wgsl_header(device) + text;
  std::vector<std::string> texts{std::move(text)};
  for (const Beside& part : call.beside) {
    PUNA_TRY(texts.emplace_back(), expand_with(part.defines));
  }
  PUNA_TRY(const std::string joined, join(call, texts));
  return gpu::wgsl_header(device) + joined;
}

}  // namespace puna::kernels
