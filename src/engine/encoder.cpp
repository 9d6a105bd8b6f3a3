#include "engine/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "engine/weight_reader.h"
#include "plan/fuse.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;
using formats::ModelFile;
using models::EncoderConfig;
using models::EncoderRows;

namespace {

// Tables that the file has; whoever needs one that it lacks says so.
Task<Result<models::EncoderTables>> read_tables(const ModelFile& file,
                                                const EncoderConfig& config) {
  models::EncoderTables out;
  for (const std::string& name : models::encoder_tables(config)) {
    const formats::Tensor* const tensor = file.find_tensor(name);
    if (!tensor) continue;
    if (!tensor->usable()) co_return std::unexpected(tensor->unusable());
    const uint64_t n = tensor->rows() * tensor->columns();
    if (n > UINT32_MAX) {
      co_return base::fail(
          ErrorCode::kCorrupt,
          fmt::format("Tensor \"{}\" has {} elements, too many for a table.", name, n));
    }
    const plan::VectorSpec spec{
        name, {static_cast<uint32_t>(tensor - file.tensors.data())}, static_cast<uint32_t>(n)};
    PUNA_CO_TRY(out[name], co_await read_vector(file, spec));
  }
  co_return out;
}

// Rows of the largest tile.
Result<uint32_t> most_rows(const EncoderConfig& config, const EncoderOptions& options) {
  constexpr uint32_t kSoundFrames = 3000;  // a window of 30 s has
  if (config.projector.sense == models::Sense::kSounds)
    return models::count_rows(config, config.n_bins, kSoundFrames);
  if (!config.rows.any_size)
    return models::count_rows(config, config.image_size, config.image_size);
  return std::clamp(options.max_rows, 1u, kernels::kMaxStepRows);
}

// Rows of which the head makes one.
uint32_t rows_of_output(const EncoderConfig& config) {
  if (config.projector.sense == models::Sense::kSounds) return config.stack;
  return config.rows.merge * config.rows.merge;
}

// Rows that memory is planned for.
Result<uint32_t> batch_rows(const EncoderConfig& config, const EncoderOptions& options,
                            const BatchLayout& layout) {
  PUNA_TRY(const uint32_t most, most_rows(config, options));
  const uint32_t padded = std::max(layout.padded(most), 1u);
  const bool one_size = config.projector.sense == models::Sense::kPictures && !config.rows.any_size;
  const uint32_t n = one_size ? std::min(kUsualTileRows / padded, options.max_tiles) : 1;
  return padded * std::max(n, 1u);
}

}  // namespace

Task<Result<std::unique_ptr<Encoder>>> Encoder::load(ModelFile file, EncoderOptions options,
                                                     gpu::Device* device, LoadHooks hooks) {
  const std::string loading = fmt::format("While loading {}", file.name);
  PUNA_CO_TRY_CONTEXT(const EncoderConfig config, models::read_encoder(file, options.sense),
                      loading);
  PUNA_CO_TRY_CONTEXT(models::arrange_encoder(file, config), loading);
  EncoderPlan plan;
  PUNA_CO_TRY_CONTEXT(plan.graph, models::build_encoder(file, config), loading);
  const BatchLayout layout = batch_tiles(plan.graph, rows_of_output(config));
  plan.graph = plan::fuse(std::move(plan.graph));
  PUNA_CO_TRY(plan.max_rows, batch_rows(config, options, layout));
  plan.max_outputs = std::max(plan.max_rows / layout.rows_of_output, 1u);
  const uint32_t max_rows = plan.max_rows;
  PUNA_CO_TRY_CONTEXT(models::EncoderTables tables, co_await read_tables(file, config), loading);
  std::unique_ptr<Encoder> encoder;
  if (device) {
    PUNA_CO_TRY_CONTEXT(encoder,
                        co_await load_gpu_encoder(file, std::move(plan), options, *device, hooks),
                        loading);
  } else {
    PUNA_CO_TRY_CONTEXT(encoder, co_await load_cpu_encoder(file, std::move(plan), options, hooks),
                        loading);
  }
  encoder->config_ = config;
  encoder->tables_ = std::move(tables);
  encoder->layout_ = layout;
  encoder->max_rows_ = max_rows;
  co_return encoder;
}

Task<Result<Encoded>> Encoder::run(std::vector<models::EncoderInput> tiles) {
  PUNA_CO_TRY(begin(std::move(tiles)));
  for (bool over = false; !over;) {
    PUNA_CO_TRY(over, co_await advance(std::numeric_limits<double>::infinity()));
  }
  co_return take();
}

Result<void> Encoder::begin(std::vector<models::EncoderInput> tiles) {
  tiles_.clear();
  batch_.reset();
  n_begun_ = 0;
  encoded_ = {};
  for (const models::EncoderInput& tile : tiles) {
    PUNA_TRY(const uint32_t n_rows, models::count_rows(config_, tile.height, tile.width));
    if (layout_.padded(n_rows) > max_rows_) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("A tile of {} x {} has {} patches, but the encoder is "
                                    "loaded for {} at most.",
                                    tile.width, tile.height, n_rows, max_rows_));
    }
  }
  tiles_ = std::move(tiles);
  return {};
}

// As many of the tiles that are left as fit, in their order.
Result<void> Encoder::next_batch() {
  std::vector<EncoderRows> rows;
  uint32_t n_rows = 0;
  while (n_begun_ < tiles_.size()) {
    const models::EncoderInput& tile = tiles_[n_begun_];
    PUNA_TRY(const uint32_t most, models::count_rows(config_, tile.height, tile.width));
    if (!rows.empty() && n_rows + layout_.padded(most) > max_rows_) break;
    PUNA_TRY(rows.emplace_back(), models::encoder_rows(config_, tables_, tile));
    n_rows += layout_.padded(rows.back().n_rows);
    ++n_begun_;
  }
  batch_ = join_tiles(layout_, std::move(rows));
  outputs_.resize(size_t{batch_->n_outputs} * config_.projector.row_width());
  fresh_ = true;
  return {};
}

Task<Result<bool>> Encoder::advance(double budget_ms) {
  const base::Timer timer;
  do {
    if (!batch_ && n_begun_ == tiles_.size()) co_return true;
    if (!batch_) PUNA_CO_TRY(next_batch());
    PUNA_CO_TRY(const bool over, co_await advance_batch(*batch_, std::exchange(fresh_, false),
                                                        outputs_, budget_ms - timer.ms()));
    if (!over) continue;
    for (const EncoderBatch::Tile& tile : batch_->tiles) PUNA_CO_TRY(place(tile));
    encoded_.flops += batch_->flops;
    batch_.reset();
  } while (timer.ms() < budget_ms);
  co_return !batch_ && n_begun_ == tiles_.size();
}

Encoded Encoder::take() {
  encoded_.media.n_rows =
      static_cast<uint32_t>(encoded_.media.rows.size() / config_.projector.row_width());
  return std::exchange(encoded_, {});
}

// Appends the rows of a tile as they stand in a prompt.
Result<void> Encoder::place(const EncoderBatch::Tile& tile) {
  const size_t width = config_.projector.row_width();
  const auto found = tables_.find("v.token_embd.img_break");
  std::vector<float>& out = encoded_.media.rows;
  for (const uint32_t output : tile.places) {
    if (output != models::kBreakRow) {
      const auto row = std::span(outputs_).subspan((tile.first_output + output) * width, width);
      out.insert(out.end(), row.begin(), row.end());
    } else if (found != tables_.end() && found->second.size() == width) {
      out.insert(out.end(), found->second.begin(), found->second.end());
    } else {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("The tensor \"v.token_embd.img_break\" has {} elements; the "
                                    "row that ends a line of a picture has {}.",
                                    found != tables_.end() ? found->second.size() : 0, width));
    }
  }
  encoded_.tiles.push_back(tile.cells);
  return {};
}

}  // namespace puna::engine
