#include "cli/bench_media.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/bench_parallel.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "service/media_prompt.h"
#include "service/senses.h"

namespace puna::cli {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;
using models::Sense;

constexpr uint32_t kMaxSide = 16384;
constexpr std::string_view kQuestion = "What is this?";

// A file of random pixels: BMP, 24 bits, rows filled up to words.
service::MediaFile random_picture(const PictureSize& size, uint32_t seed) {
  constexpr uint32_t kHeader = 54, kInfo = 40;
  const uint32_t stride = (3 * size.width + 3) / 4 * 4;
  std::vector<std::byte> bytes;
  const auto put = [&](uint32_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  put(0x4d42, 2);  // BM
  put(kHeader + stride * size.height, 4);
  put(0, 4);
  put(kHeader, 4);
  put(kInfo, 4);
  put(size.width, 4);
  put(size.height, 4);
  put(1, 2);   // plane
  put(24, 2);  // bits a pixel
  for (int i = 0; i < 6; ++i) put(0, 4);
  uint32_t state = 2 * seed + 1;
  while (bytes.size() < kHeader + size_t{stride} * size.height) {
    state = state * 747796405u + 2891336453u;
    put(state >> 24, 1);
  }
  return {.name = fmt::format("picture {}", seed), .sense = Sense::kPictures, .bytes = bytes};
}

struct Times {
  double encode_ms = 0, flops = 0;
  double cold_ms = 0, cached_ms = 0;  // to the first token
  uint32_t n_tiles = 0, n_rows = 0;
};

template <class T>
Result<T> wait(service::LoadedModel& model, base::Task<Result<T>> task) {
  return base::run_until(std::move(task), [&] { model.poll(); });
}

Result<void> first_token(service::LoadedModel& model, const tokenizer::Tokenizer& tokenizer,
                         const std::shared_ptr<const service::EncodedMedia>& media) {
  engine::GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = 1;
  const std::vector<service::PlacedMedia> placed = {{.media = media}};
  PUNA_TRY(wait(model, model.scheduler->generate(
                           service::media_prompt(tokenizer, kQuestion, placed, /*ends=*/false),
                           std::move(options), {}, [](const kernels::Chosen&) { return true; })));
  return {};
}

Result<Times> time_picture(service::LoadedModel& model, const tokenizer::Tokenizer& tokenizer,
                           const PictureSize& size, uint32_t seed) {
  const service::MediaFile file = random_picture(size, seed);
  const service::MediaReader& reader = *model.senses->reader(Sense::kPictures);
  Times out;
  const base::Timer cold;
  PUNA_TRY(const service::MediaInput input, model.senses->read(file));
  const base::Timer encoding;
  const service::MediaReader::Tiles tiles = reader.tiles(input);
  PUNA_TRY(engine::Encoded encoded,
           wait(model, model.senses->run(model.scheduler.get(), Sense::kPictures, tiles.inputs)));
  out.encode_ms = encoding.ms();
  out.flops = encoded.flops;
  out.n_tiles = static_cast<uint32_t>(tiles.inputs.size());
  out.n_rows = encoded.media.n_rows;
  const auto media = reader.encoded(input, std::move(encoded.media.rows));
  PUNA_TRY(first_token(model, tokenizer, media));
  out.cold_ms = cold.ms();
  const base::Timer cached;
  PUNA_TRY(first_token(model, tokenizer, media));
  out.cached_ms = cached.ms();
  return out;
}

}  // namespace

Result<PictureSize> parse_picture_size(const std::string& text) {
  PictureSize out;
  const char* const end = text.data() + text.size();
  const auto [cross, first] = std::from_chars(text.data(), end, out.width);
  const bool has_cross = first == std::errc() && cross != end && *cross == 'x';
  const auto [last, second] = has_cross ? std::from_chars(cross + 1, end, out.height)
                                        : std::from_chars(end, end, out.height);
  if (has_cross && second == std::errc() && last == end && std::min(out.width, out.height) > 0 &&
      std::max(out.width, out.height) <= kMaxSide)
    return out;
  return base::fail(
      ErrorCode::kUsage,
      fmt::format("--image takes WIDTHxHEIGHT, each from 1 to {}, but is \"{}\".", kMaxSide, text));
}

Result<Json> bench_picture(service::LoadedModel& model, const PictureSize& size, uint32_t repeats) {
  if (!model.senses || !model.senses->has(Sense::kPictures)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The model {} has no encoder of pictures.", model.name));
  }
  PUNA_TRY(const tokenizer::Tokenizer* const tokenizer, service::tokenizer_of(model));
  std::vector<double> encode, tflops, cold, cached;
  Times times;
  // The first, of a picture of its own, warms caches and is not counted.
  for (uint32_t i = 0; i <= repeats; ++i) {
    if (interrupted()) return base::fail(ErrorCode::kCancelled, "The benchmark was interrupted.");
    PUNA_TRY(times, time_picture(model, *tokenizer, size, i));
    if (i == 0) continue;
    encode.push_back(times.encode_ms);
    tflops.push_back(times.flops / times.encode_ms / 1e9);
    cold.push_back(times.cold_ms);
    cached.push_back(times.cached_ms);
  }
  Json out = Json::object();
  out.set("width", size.width).set("height", size.height).set("tiles", times.n_tiles);
  out.set("rows", times.n_rows).set("encode_ms", rate_json(encode));
  out.set("tflops", rate_json(tflops)).set("first_token_ms", rate_json(cold));
  out.set("first_token_cached_ms", rate_json(cached));
  return out;
}

void print_picture(const Json& report) {
  print_out("picture of {} x {}: {} tiles, {} rows\n", report.find("width")->integer(),
            report.find("height")->integer(), report.find("tiles")->integer(),
            report.find("rows")->integer());
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"encode_ms", "encode, ms"},
      {"tflops", "encode, TFLOP/s"},
      {"first_token_ms", "first token, ms"},
      {"first_token_cached_ms", "the same again, ms"}};
  for (const auto& [key, title] : kRows) {
    const Json& rate = *report.find(key);
    print_out("{:<20} min {:>9.2f}  median {:>9.2f}  max {:>9.2f}\n", title,
              rate.find("min")->number(), rate.find("median")->number(),
              rate.find("max")->number());
  }
}

}  // namespace puna::cli
