// The encoders of tests/encoders/ through the whole core: the rows of a tile are those of the
// float64 reference (tools/make_tiny_encoders.py), on the CPU and on the first native adapter
// (software Vulkan will do) with all it offers and with the WebGPU baseline. The sources answer
// late, as a page's do.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "engine/encoder.h"
#include "formats/open.h"
#include "gpu/native/native.h"
#include "io/byte_source.h"
#include "io/test_sources.h"

using namespace puna;

namespace {

// Exact numerics against the stored weights: sums in another order cost 1e-12. Matrices of f16 may
// be multiplied with f16 activations.
constexpr double kLimit = 1e-9, kHalfLimit = 1e-6;

struct Case {
  const char* name;
  uint32_t height, width;  // of a tile, or mel bins and frames
  bool half = false;       // has matrices of f16
  bool sound = false;
  uint32_t n_sounding = 0;  // frames before a sound ends; 0: all
};
constexpr Case kCases[] = {
    {"gemma3", 24, 24},
    {"gemma4", 24, 36},
    {"idefics3", 24, 24},
    {"internvl", 16, 16},
    {"llava", 20, 20},
    {"mistral3", 24, 16},
    {"pixtral", 12, 20, /*half=*/true},
    {"qwen25vl", 32, 128},
    {"qwen3vl", 16, 24, /*half=*/true},
    {"voxtral", 8, 48, /*half=*/true, /*sound=*/true},
    {"qwen2audio", 8, 48, /*half=*/false, /*sound=*/true, /*n_sounding=*/43},
    {"qwen2omni", 8, 230, /*half=*/false, /*sound=*/true, /*n_sounding=*/229},
    {"qwen2vl", 32, 48},
    {"ultravox", 8, 41, /*half=*/false, /*sound=*/true},
    {"gemma4audio", 8, 75, /*half=*/false, /*sound=*/true, /*n_sounding=*/73},
    {"gemma4clipped", 24, 36},
};

models::Sense sense_of(const Case& c) {
  return c.sound ? models::Sense::kSounds : models::Sense::kPictures;
}

// As pattern() of tools/make_tiny_encoders.py.
std::vector<float> pattern(size_t n) {
  std::vector<float> out(n);
  for (uint64_t i = 0; i < n; ++i) {
    const auto hash = static_cast<uint32_t>((i + 1) * (i + 1) * 2654435761u);
    out[i] = static_cast<float>(hash >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return out;
}

// The values of a float32 .npy file.
std::vector<float> read_rows(const std::string& path) {
  const auto source = io::open_file(path);
  REQUIRE_MESSAGE(source.has_value(), source.error().text());
  std::vector<std::byte> bytes((*source)->size());
  REQUIRE(base::run_until(io::read(**source, 0, bytes), [] {}).has_value());
  const size_t start = 10 + static_cast<size_t>(bytes[8]) + (static_cast<size_t>(bytes[9]) << 8);
  std::vector<float> values((bytes.size() - start) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(float));
  return values;
}

double nmse(std::span<const float> x, std::span<const float> reference) {
  REQUIRE(x.size() == reference.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (double{x[i]} - reference[i]) * (double{x[i]} - reference[i]);
    size += double{reference[i]} * reference[i];
  }
  return error / size;
}

// An encoder from a source that answers late.
class Loaded {
 public:
  Loaded(const Case& c, gpu::Device* device, uint32_t max_rows = 512, uint32_t max_tiles = 4)
      : device_(device) {
    auto inner = io::open_file(std::string("tests/encoders/") + c.name + ".gguf");
    REQUIRE_MESSAGE(inner.has_value(), inner.error().text());
    auto file = base::run_until(
        formats::open_model(std::make_unique<io::DeferredSource>(*std::move(inner), reads_)),
        [this] { pump(); });
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    engine::EncoderOptions options;
    options.sense = sense_of(c);
    options.max_rows = max_rows;
    options.max_tiles = max_tiles;
    options.numerics = kernels::Numerics::kExact;
    options.n_threads = 2;
    auto loaded =
        base::run_until(engine::Encoder::load(*std::move(file), std::move(options), device, {}),
                        [this] { pump(); });
    REQUIRE_MESSAGE(loaded.has_value(), loaded.error().text());
    encoder_ = *std::move(loaded);
  }

  base::Result<engine::Encoded> run(std::vector<models::EncoderInput> tiles) {
    return base::run_until(encoder_->run(std::move(tiles)), [this] { encoder_->poll(); });
  }
  // The same in the shortest pieces there are; how many.
  size_t run_in_pieces(std::vector<models::EncoderInput> tiles, engine::Encoded& out) {
    REQUIRE(encoder_->begin(std::move(tiles)).has_value());
    for (size_t n = 1;; ++n) {
      const auto over = base::run_until(encoder_->advance(0), [this] { encoder_->poll(); });
      REQUIRE_MESSAGE(over.has_value(), over.error().text());
      if (!*over) continue;
      out = encoder_->take();
      return n;
    }
  }
  engine::Encoder& encoder() { return *encoder_; }

 private:
  void pump() {
    if (reads_.pump()) return;
    REQUIRE(device_ != nullptr);
    device_->poll();
  }

  io::ReadQueue reads_;
  gpu::Device* device_;
  std::unique_ptr<engine::Encoder> encoder_;
};

std::vector<float> tile_of(const Case& c) {
  return pattern(size_t{c.height} * c.width * (c.sound ? 1 : 3));
}

void check_case(const Case& c, gpu::Device* device) {
  CAPTURE(c.name);
  Loaded loaded(c, device);
  const std::vector<float> tile = tile_of(c);
  const models::EncoderInput input{tile, c.height, c.width, c.n_sounding};
  const std::vector<float> reference = read_rows(std::string("tests/encoders/") + c.name + ".npy");
  // Between others, of which nothing may be left in it, nor be seen by it where they are run
  // together.
  std::vector<float> other = tile;
  for (float& value : other) value = 1 - 2 * value;
  const models::EncoderInput beside{other, c.height, c.width, c.n_sounding};
  const auto encoded = loaded.run({beside, input, beside});
  REQUIRE_MESSAGE(encoded.has_value(), encoded.error().text());
  CHECK(encoded->tiles.size() == 3);
  const size_t n = reference.size();
  const std::span<const float> rows = encoded->media.rows;
  REQUIRE(rows.size() == 3 * n);
  CHECK(nmse(rows.subspan(n, n), reference) <= (c.half ? kHalfLimit : kLimit));
  CHECK(nmse(rows.last(n), rows.first(n)) <= 1e-12);
  CHECK(nmse(rows.first(n), reference) > 1e-3);

  engine::Encoded pieces;
  CHECK(loaded.run_in_pieces({beside, input, beside}, pieces) > 5);
  CHECK(pieces.media.rows == encoded->media.rows);
  CHECK(pieces.media.n_rows == encoded->media.n_rows);
  CHECK(std::ranges::equal(pieces.tiles, encoded->tiles, [](const auto& a, const auto& b) {
    return a.rows == b.rows && a.columns == b.columns;
  }));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("an encoder on the CPU gives the rows of the reference") {
    for (const Case& c : kCases) check_case(c, nullptr);
  }

  TEST_CASE("rows do not depend on how many tiles are run together") {
    for (const Case& c : kCases) {
      CAPTURE(c.name);
      const std::vector<float> tile = tile_of(c);
      const std::vector<models::EncoderInput> tiles(5, {tile, c.height, c.width});
      Loaded together(c, nullptr), apart(c, nullptr, 1024, /*max_tiles=*/1);
      const auto rows = together.run(tiles);
      REQUIRE(rows.has_value());
      const size_t n = rows->media.rows.size() / tiles.size();
      std::vector<float> expected;
      for (size_t i = 0; i < tiles.size(); ++i) {
        const auto one = apart.run({tiles[i]});
        REQUIRE(one.has_value());
        CHECK(one->media.rows.size() == n);
        expected.insert(expected.end(), one->media.rows.begin(), one->media.rows.end());
      }
      CHECK(rows->media.rows == expected);
    }
  }

  TEST_CASE("a tile of another size than the encoder's is refused with both sizes") {
    Loaded gemma(kCases[0], nullptr);
    const std::vector<float> tile = pattern(20 * 24 * 3);
    const auto fixed = gemma.run({{tile, 20, 24}});
    REQUIRE(!fixed.has_value());
    CHECK(fixed.error().message == "A tile is 24 x 20 pixels, but this encoder reads 24 x 24.");
    Loaded pixtral(kCases[6], nullptr, /*max_rows=*/12);
    const auto odd = pixtral.run({{tile, 18, 24}});
    REQUIRE(!odd.has_value());
    CHECK(odd.error().message ==
          "A tile is 24 x 18 pixels; both must be multiples of 4 for this encoder.");
    const auto large = pixtral.run({{tile, 20, 24}});
    REQUIRE(!large.has_value());
    CHECK(large.error().message ==
          "A tile of 24 x 20 has 30 patches, but the encoder is loaded for 12 at most.");
    CHECK(pixtral.run({{tile, 12, 16}}).has_value());
  }

  TEST_CASE("a sound with other mel bins or of part of a row is refused") {
    Loaded voxtral(kCases[9], nullptr);
    const std::vector<float> sound = pattern(9 * 48);
    const auto bins = voxtral.run({{sound, 9, 48}});
    REQUIRE(!bins.has_value());
    CHECK(bins.error().message == "A sound has 9 mel bins, but this encoder reads 8.");
    const auto frames = voxtral.run({{sound, 8, 44}});
    REQUIRE(!frames.has_value());
    CHECK(frames.error().message == "A sound has 44 frames; this encoder reads a multiple of 8.");
    const auto known = voxtral.run({{sound, 4, 96}});
    CHECK(!known.has_value());
    Loaded qwen(kCases[10], nullptr);
    const auto little = qwen.run({{sound, 8, 48, /*n_sounding=*/2}});
    REQUIRE(!little.has_value());
    CHECK(little.error().message == "A sound has 2 frames; this encoder needs 3 at the least.");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("an encoder on a GPU gives the rows of the reference") {
    const auto adapters = gpu::native::adapters();
    if (!adapters || adapters->empty()) {
      MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
      return;
    }
    for (const bool baseline : {false, true}) {
      gpu::native::OpenOptions options;
      options.baseline = baseline;
      const auto device = gpu::native::open(0, options);
      REQUIRE_MESSAGE(device.has_value(), device.error().text());
      // Of the baseline two, as software Vulkan takes seconds to compile the kernels of another.
      for (const Case& c : kCases) {
        if (!baseline || c.sound || c.name == std::string("qwen25vl")) check_case(c, device->get());
      }
    }
  }
}
