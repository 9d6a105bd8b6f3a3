#include "cli/embed_media.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/media_rows.h"
#include "cli/npy.h"
#include "cli/output_file.h"
#include "service/media_encoder.h"

namespace puna::cli {
namespace {

using base::ErrorCode;
using base::Result;
using models::Sense;

constexpr Defaults kExact = {kernels::Numerics::kExact, kernels::KvType::kF32};

// What an encoder reads, of an array [tiles, height, width, 3] or, of a sound, [bins, frames].
struct Tiles {
  NpyArray array;
  Sense sense = Sense::kPictures;

  std::vector<models::EncoderInput> inputs() const {
    const std::vector<uint64_t>& shape = array.shape;
    const auto size = [&](size_t i) { return static_cast<uint32_t>(shape[i]); };
    if (sense == Sense::kSounds) return {{array.values, size(0), size(1)}};
    std::vector<models::EncoderInput> out;
    const size_t n = array.values.size() / size(0);
    for (size_t i = 0; i < size(0); ++i)
      out.push_back({std::span(array.values).subspan(i * n, n), size(1), size(2)});
    return out;
  }
};

Result<Tiles> read_tiles(const std::string& path) {
  Tiles out;
  PUNA_TRY(out.array, read_npy(path));
  const std::vector<uint64_t>& shape = out.array.shape;
  const bool fits = !out.array.values.empty() &&
                    std::ranges::all_of(shape, [](uint64_t n) { return n <= UINT32_MAX; });
  if (fits && shape.size() == 4 && shape[3] == 3) return out;
  out.sense = Sense::kSounds;
  if (fits && shape.size() == 2) return out;
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("The array of {} has the shape ({}); pictures are (tiles, height, "
                                "width, 3), sounds (mel bins, frames).",
                                path, fmt::join(shape, ", ")));
}

// Patches of the largest tile.
Result<uint32_t> most_rows(const formats::ModelFile& file, const Tiles& tiles) {
  PUNA_TRY(const models::EncoderConfig config, models::read_encoder(file, tiles.sense));
  uint32_t most = 0;
  for (const models::EncoderInput& input : tiles.inputs()) {
    PUNA_TRY(const uint32_t rows, models::count_rows(config, input.height, input.width));
    most = std::max(most, rows);
  }
  return most;
}

struct Rows {
  std::vector<float> values;
  uint64_t width = 0;
};

Result<Rows> rows_of_pixels(formats::ModelFile file, const service::OpenOptions& options,
                            const std::string& path) {
  PUNA_TRY(const Tiles tiles, read_tiles(path));
  PUNA_TRY(const uint32_t rows, most_rows(file, tiles));
  PUNA_TRY(const service::MediaEncoder use,
           service::open_encoder(std::move(file), options, tiles.sense, rows));
  PUNA_TRY(engine::Encoded encoded,
           base::run_until(use.encoder->run(tiles.inputs()), [&] { use.poll(); }));
  return Rows{std::move(encoded.media.rows), use.encoder->config().projector.row_width()};
}

Result<Rows> rows_of_file(const PromptMedia& files, const ModelFlags& flags,
                          const std::string& path) {
  PUNA_TRY(const MediaFiles read, read_media(files));
  const AskedMedia asked[] = {{.file = read.front()}};
  PUNA_TRY(service::FoundEncoder encoder, service::check_encoder(path, nullptr));
  MediaRows rows(flags, kExact, std::move(encoder), files.image_max_tokens);
  PUNA_TRY(const auto placed, rows.place(asked));
  return Rows{placed.front().media->rows, placed.front().media->row_width};
}

}  // namespace

Result<int> embed_media(const ModelFlags& model, const EmbedMedia& media,
                        const std::string& output) {
  catch_interrupts();
  ProgressBar bar;
  ModelFlags flags = model;
  flags.model = media.files.mmproj;
  PUNA_TRY(const service::OpenOptions options, open_options(flags, kExact, bar));
  PUNA_TRY(const std::string path, service::find_model(options));
  PUNA_TRY(formats::ModelFile file, service::open_encoder_file(options));
  PUNA_TRY(const io::OutputPlace place, io::find_output(output, file.paths));
  PUNA_TRY(const Rows rows, media.pixels.empty()
                                ? rows_of_file(media.files, flags, path)
                                : rows_of_pixels(std::move(file), options, media.pixels));
  PUNA_TRY(const auto out, create_output(place));
  bar.clear();
  const uint64_t shape[] = {rows.values.size() / rows.width, rows.width};
  PUNA_TRY(write_npy(*out, rows.values, shape));
  return 0;
}

}  // namespace puna::cli
