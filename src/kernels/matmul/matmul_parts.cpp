#include "kernels/matmul/matmul_parts.h"

#include <algorithm>

#include "quant/planes.h"

namespace puna::kernels {
namespace {

bool in_tiles(const MatmulArgs& args) { return args.max_rows > kMatvecRows; }

}  // namespace

uint32_t part_rows(const MatmulArgs& args) {
  return args.parts ? args.weight.rows / std::max(args.parts->n_parts, 1u) : args.weight.rows;
}
uint32_t work_rows(const MatmulArgs& args) {
  return args.parts && !args.parts->sums ? part_rows(args) * args.parts->n_slots : part_rows(args);
}
uint32_t x_slots(const MatmulArgs& args) {
  return args.parts && args.parts->x_of_pairs ? args.parts->n_slots : 1;
}
uint32_t k_slots(const MatmulArgs& args) {
  return args.parts && args.parts->sums ? args.parts->n_slots : 1;
}

base::Result<void> check_parts(const MatmulArgs& args) {
  if (!args.parts) return {};
  const MatmulParts& parts = *args.parts;
  const auto refuse = [&](std::string why) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Product {} {}.", args.label, why));
  };
  const uint32_t multiple = is_gated(args.epilogue) ? 8 : quant::kGroupRows;
  if (parts.n_parts == 0 || args.weight.rows % parts.n_parts != 0 ||
      part_rows(args) % multiple != 0) {
    return refuse(fmt::format("has {} parts of {} rows together; each must have a multiple of {}",
                              parts.n_parts, args.weight.rows, multiple));
  }
  for (const GpuWeight::Chunk& chunk : args.weight.chunks) {
    if (chunk.n_rows % part_rows(args) != 0)
      return refuse(
          fmt::format("has a chunk of {} rows and parts of {}", chunk.n_rows, part_rows(args)));
  }
  if (!parts.routes && (parts.n_slots != parts.n_parts || parts.sums || parts.bias))
    return refuse("goes through all parts, so their slots are neither summed nor biased");
  if (parts.routes && in_tiles(args) && (!parts.groups || parts.sums))
    return refuse("of many rows needs its pairs sorted, and sums no slots");
  if (parts.sums && (!parts.x_of_pairs || args.x_stride != 0))
    return refuse("sums slots, so x has a row for each pair, side by side");
  if (args.bias || args.scale != 1.0f || args.norm)
    return refuse("has parts, and so no bias of its own, no scale and no norm");
  return {};
}

void describe_parts(const MatmulArgs& args, const GpuWeight::Chunk& chunk, Describe& call) {
  if (!args.parts) return;
  const MatmulParts& parts = *args.parts;
  const uint32_t rows = part_rows(args);
  const bool is_first = chunk.first_row == 0;
  call.text("ROWS", fmt::format("{}u", rows));
  call.text("SLOTS", fmt::format("{}u", parts.n_slots)).number("X_OF_PAIRS", parts.x_of_pairs);
  call.text("FIRST_PART", fmt::format("{}u", chunk.first_row / rows))
      .text("CHUNK_PARTS", fmt::format("{}u", chunk.n_rows / rows))
      .number("CHUNKED", args.weight.chunks.size() > 1);
  // The first product of experts takes their weights along, in tiles too.
  const bool weighs = is_gated(args.epilogue) || args.epilogue == Epilogue::kActivate;
  if (parts.routes && (!in_tiles(args) || weighs)) call.constant("B_ROUTES", *parts.routes);
  if (parts.groups && in_tiles(args)) {
    const uint32_t tile = matmul_tile_rows(args.max_rows, parts.n_parts, parts.n_slots);
    call.constant("B_GROUPS", *parts.groups)
        .text("PAIRS_AT", fmt::format("{}u", group_tiles_words(args.max_rows * parts.n_slots,
                                                               parts.n_parts, tile)));
  }
  // Chunks of a sum add to what the first one leaves, which takes the biases along.
  if (parts.bias && (is_first || !parts.sums)) call.constant("B_PART_BIAS", *parts.bias);
  if (parts.sums) call.flag("SUM_SLOTS");
  if (parts.sums && !is_first) call.flag("ADD");
}

std::pair<GridDim, GridDim> tile_grid(const MatmulArgs& args, uint32_t tile_m) {
  const GridDim plain{extent_of(args.rows), 1, tile_m};
  if (!args.parts) return {plain, {}};
  if (!args.parts->routes) return {plain, {Extent::kOne, args.parts->n_parts, 1}};
  // Every part may end in a tile that is not full.
  return {{extent_of(args.rows), args.parts->n_slots, tile_m, args.parts->n_parts}, {}};
}

GridDim matvec_grid(const MatmulArgs& args, uint32_t columns) {
  const bool pairs = args.parts && !args.parts->sums;
  return {extent_of(args.rows), pairs ? args.parts->n_slots : 1, columns};
}

uint32_t matmul_tile_rows(uint32_t max_rows, uint32_t n_parts, uint32_t n_slots) {
  constexpr uint32_t kEnough = 48;  // rows of a part that would fill the larger tile
  return uint64_t{max_rows} * n_slots >= uint64_t{kEnough} * n_parts ? 64 : 32;
}

uint32_t group_tiles_words(uint32_t max_pairs, uint32_t n_parts, uint32_t tile_rows) {
  return 4 + 4 * (div_up(max_pairs, tile_rows) + n_parts);
}
uint32_t group_words(uint32_t max_pairs, uint32_t n_parts, uint32_t tile_rows) {
  return group_tiles_words(max_pairs, n_parts, tile_rows) + max_pairs;
}

}  // namespace puna::kernels
