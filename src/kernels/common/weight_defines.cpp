#include "kernels/common/weight_defines.h"

#include <fmt/format.h>

#include <cctype>

#include "quant/planes.h"

namespace puna::kernels {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string weight_define(quant::Type type) {
  return fmt::format("WEIGHT_{}", upper(quant::info(type).name));
}

std::map<std::string, std::string> weight_defines(quant::Type type, uint32_t rows, uint32_t cols) {
  const quant::PlaneLayout layout = quant::plane_layout(type, rows, cols);
  const quant::TypePlanes& planes = quant::planes_of(type);
  std::map<std::string, std::string> defines;
  defines.emplace(weight_define(type), "1");
  defines["ROWS"] = fmt::format("{}u", rows);
  defines["COLS"] = fmt::format("{}u", cols);
  defines["UNITS"] = fmt::format("{}u", layout.n_units());
  for (size_t i = 0; i < planes.planes.size(); ++i) {
    defines[fmt::format("PLANE_{}", upper(planes.planes[i].name))] =
        fmt::format("{}u", layout.offset_bytes[i] / 16);
  }
  if (!planes.grid.empty())
    defines["PLANE_GRID"] = fmt::format("{}u", layout.grid_offset_bytes / 16);
  return defines;
}

base::Result<void> check_weight_shape(std::string_view label, quant::Type type, uint32_t rows,
                                      uint32_t cols) {
  const quant::TypeInfo& info = quant::info(type);
  if (rows == 0 || cols == 0 || cols % info.block_elements != 0) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("The weight of {} is {} x {}, which {} in blocks of {} cannot be.", label, rows,
                    cols, info.name, info.block_elements));
  }
  constexpr uint64_t kMaxBytes = uint64_t{1} << 34;  // shaders count in u32 words
  if (const uint64_t bytes = quant::plane_layout(type, rows, cols).bytes; bytes > kMaxBytes) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("A chunk of the weight of {} has {} bytes (limit {}).", label,
                                  bytes, kMaxBytes));
  }
  return {};
}

}  // namespace puna::kernels
