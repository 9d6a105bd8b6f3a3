#include "engine/encoder.h"

#include <fmt/format.h>

#include <algorithm>

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

uint32_t outputs_of(const EncoderConfig& config, uint32_t n_rows) {
  if (config.projector.sense == models::Sense::kSounds) return n_rows / config.sound.stack;
  return n_rows / (config.rows.merge * config.rows.merge);
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
  plan.graph = plan::fuse(std::move(plan.graph));
  PUNA_CO_TRY(plan.max_rows, most_rows(config, options));
  plan.max_outputs = std::max(outputs_of(config, plan.max_rows), 1u);
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
  encoder->max_rows_ = max_rows;
  co_return encoder;
}

Task<Result<Encoded>> Encoder::run(std::vector<models::EncoderInput> tiles) {
  Encoded out;
  const uint32_t width = config_.projector.row_width();
  for (const models::EncoderInput& tile : tiles) {
    PUNA_CO_TRY(const uint32_t n_rows, models::count_rows(config_, tile.height, tile.width));
    if (n_rows > max_rows_) {
      co_return base::fail(ErrorCode::kInvalidArgument,
                           fmt::format("A tile of {} x {} has {} patches, but the encoder is "
                                       "loaded for {} at most.",
                                       tile.width, tile.height, n_rows, max_rows_));
    }
    PUNA_CO_TRY(const EncoderRows rows, models::encoder_rows(config_, tables_, tile));
    std::vector<float> outputs(size_t{rows.n_outputs} * width);
    PUNA_CO_TRY(co_await run_rows(rows, outputs));
    PUNA_CO_TRY(place(rows, outputs, out.media.rows));
    out.tiles.push_back(rows.cells);
  }
  out.media.n_rows = static_cast<uint32_t>(out.media.rows.size() / width);
  co_return out;
}

// Appends the rows of a tile as they stand in a prompt.
Result<void> Encoder::place(const EncoderRows& rows, std::span<const float> outputs,
                            std::vector<float>& out) const {
  const size_t width = config_.projector.row_width();
  const auto found = tables_.find("v.token_embd.img_break");
  for (const uint32_t output : rows.places) {
    if (output != models::kBreakRow) {
      const auto row = outputs.subspan(output * width, width);
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
  return {};
}

}  // namespace puna::engine
