#include "cli/embed_media.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/npy.h"
#include "cli/output_file.h"
#include "service/senses.h"

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

struct Rows {
  std::vector<float> values;
  uint64_t width = 0;
};

Result<Rows> rows_of_pixels(const PromptMedia& files, const service::OpenOptions& options,
                            const std::string& path) {
  PUNA_TRY(const Tiles tiles, read_tiles(path));
  service::OpenOptions with_encoder = options;
  with_encoder.mmproj = mmproj_of(files);
  PUNA_TRY(const auto senses, service::open_senses(with_encoder));
  PUNA_TRY(
      engine::Encoded encoded,
      base::run_until(senses->run(nullptr, tiles.sense, tiles.inputs()), [&] { senses->poll(); }));
  return Rows{std::move(encoded.media.rows),
              senses->reader(tiles.sense)->config().projector.row_width()};
}

Result<Rows> rows_of_file(const PromptMedia& files, const service::OpenOptions& options) {
  PUNA_TRY(const MediaFiles read, read_media(files));
  PUNA_TRY(const auto placed, encode_media(read, options, mmproj_of(files)));
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
  PUNA_TRY(const formats::ModelFile file, service::open_encoder_file(options));
  PUNA_TRY(const io::OutputPlace place, io::find_output(output, file.paths));
  PUNA_TRY(const Rows rows, media.pixels.empty()
                                ? rows_of_file(media.files, options)
                                : rows_of_pixels(media.files, options, media.pixels));
  PUNA_TRY(const auto out, create_output(place));
  bar.clear();
  const uint64_t shape[] = {rows.values.size() / rows.width, rows.width};
  PUNA_TRY(write_npy(*out, rows.values, shape));
  return 0;
}

}  // namespace puna::cli
