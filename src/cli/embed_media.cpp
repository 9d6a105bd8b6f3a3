#include "cli/embed_media.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/npy.h"
#include "cli/output_file.h"
#include "service/media_encoder.h"

namespace puna::cli {
namespace {

using base::ErrorCode;
using base::Result;
using models::Sense;

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

}  // namespace

Result<int> embed_media(const ModelFlags& model, const MediaFlags& media,
                        const std::string& output) {
  catch_interrupts();
  ProgressBar bar;
  ModelFlags flags = model;
  flags.model = media.mmproj;
  PUNA_TRY(service::OpenOptions options,
           open_options(flags, {kernels::Numerics::kExact, kernels::KvType::kF32}, bar));
  PUNA_TRY(const Tiles tiles, read_tiles(media.pixels));
  PUNA_TRY(formats::ModelFile file, service::open_file(options));
  PUNA_TRY(const io::OutputPlace place, io::find_output(output, file.paths));
  PUNA_TRY(const uint32_t rows, most_rows(file, tiles));
  PUNA_TRY(const service::MediaEncoder use,
           service::open_encoder(std::move(file), options, tiles.sense, rows));
  PUNA_TRY(const auto out, create_output(place));
  bar.clear();
  PUNA_TRY(const engine::Encoded encoded,
           base::run_until(use.encoder->run(tiles.inputs()), [&] { use.poll(); }));
  const uint64_t shape[] = {encoded.media.n_rows, encoded.media.width()};
  PUNA_TRY(write_npy(*out, encoded.media.rows, shape));
  return 0;
}

}  // namespace puna::cli
