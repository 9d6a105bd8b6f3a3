#include "kernels/selftest/check_weight.h"

#include <fmt/format.h>

#include "kernels/repack/repack.h"
#include "kernels/selftest/measure.h"
#include "quant/planes.h"
#include "quant/random_rows.h"

namespace puna::kernels {

using base::Result;

CheckWeight random_weight(quant::Type type, uint32_t rows, uint32_t cols, float deviation) {
  CheckWeight weight{type, rows, cols, {}, {}};
  const quant::TypeInfo& info = quant::info(type);
  weight.values.resize(size_t{rows} * cols);
  if (info.encode) {
    const auto values = normal(weight.values.size(), rows, 0, deviation);
    weight.file.resize(static_cast<size_t>(quant::row_bytes(type, values.size())));
    info.encode(values.data(), weight.file.data(), values.size());
  } else {
    weight.file = quant::random_weights(type, rows, cols, /*seed=*/rows, deviation);
  }
  info.decode(weight.file.data(), weight.values.data(), weight.values.size());
  return weight;
}

Result<GpuWeight> upload_weight(Workbench& bench, quant::Type type,
                                std::span<const std::byte> file_rows, uint32_t rows,
                                uint32_t cols) {
  RepackArgs r;
  r.label = "repack";
  r.type = type;
  r.rows = rows;
  r.cols = cols;
  PUNA_TRY(r.staged, bench.upload(file_rows));
  const quant::PlaneLayout layout = quant::plane_layout(type, rows, cols);
  std::vector<std::byte> planes(static_cast<size_t>(layout.bytes));
  const auto grid = std::as_bytes(std::span(quant::planes_of(type).grid));
  std::copy(grid.begin(), grid.end(),
            planes.begin() + static_cast<std::ptrdiff_t>(layout.grid_offset_bytes));
  PUNA_TRY(r.planes, bench.upload(std::span<const std::byte>(planes)));
  const RepackPiece piece{0, rows, 0, cols, 0};
  PUNA_TRY(const auto params, repack_params(r, piece));
  PUNA_TRY(r.params, bench.upload(std::span<const uint32_t>(params)));
  PUNA_TRY(KernelCall call, repack(r));
  call.x = {Extent::kOne, repack_workgroups(piece), 1};
  PUNA_TRY(bench.run(std::span(&call, 1), {}));
  return GpuWeight{type, rows, cols, {{r.planes, 0, rows}}};
}

std::string weight_label(quant::Type type, Numerics numerics) {
  return fmt::format("{} {}", quant::info(type).name,
                     numerics == Numerics::kFast ? "fast" : "exact");
}

double product_limit(XForm form, quant::Type type, Numerics numerics) {
  if (form == XForm::kF16) return kF16Limit;
  if (form == XForm::kBf16) return kBf16Limit;
  return numerics == Numerics::kFast && type > quant::Type::kBf16 ? kInt8Limit : kF32Limit;
}

}  // namespace puna::kernels
