#include "formats/tensor_view.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/half.h"
#include "base/task.h"
#include "formats/block_source.h"
#include "io/test_sources.h"
#include "quant/quant.h"

using namespace puna;
using namespace puna::formats;

namespace {

// A tensor of the values 0, 1, 2, .. somewhere in a source.
struct Counting {
  explicit Counting(std::vector<uint64_t> shape) {
    uint64_t n = 1;
    for (const uint64_t d : shape) n *= d;
    std::vector<std::byte> bytes(12 + n * 4);
    for (uint64_t i = 0; i < n; ++i) {
      const auto v = static_cast<float>(i);
      std::memcpy(bytes.data() + 12 + 4 * i, &v, 4);
    }
    source = io::from_memory("counting", std::move(bytes));
    tensor = {"t", quant::Type::kF32, "F32", std::move(shape), 0, 12, n * 4};
  }
  Strided view() { return Strided(tensor, *source); }
  std::unique_ptr<io::ByteSource> source;
  RawTensor tensor;
};

std::vector<std::byte> read(io::ByteSource& source, uint64_t offset, size_t n) {
  std::vector<std::byte> out(n);
  const auto done = base::run_until(io::read(source, offset, out), [] {});
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  return out;
}

std::vector<float> values(io::ByteSource& source) {
  const std::vector<std::byte> bytes = read(source, 0, static_cast<size_t>(source.size()));
  std::vector<float> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

std::vector<float> values_of(Strided view) {
  REQUIRE_MESSAGE(view.check().has_value(), view.check().error().text());
  std::vector<Strided> parts;
  parts.push_back(std::move(view));
  return values(*make_view("v", std::move(parts), quant::Type::kF32, make_view_tile()));
}

}  // namespace

TEST_CASE("a transposed matrix gives its columns as rows") {
  Counting c({3, 4});
  CHECK(values_of(c.view().swap(0, 1)) == std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
}

TEST_CASE("pairs half a head apart become neighbours") {
  Counting c({8, 1});  // two heads of four rows
  CHECK(values_of(c.view().split(0, {2, 2, 2}).swap(1, 2)) ==
        std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7});
}

TEST_CASE("rows are cut out, taken in steps, and put one part after the other") {
  Counting c({6, 2});
  CHECK(values_of(c.view().slice(0, 2, 2)) == std::vector<float>{4, 5, 6, 7});
  CHECK(values_of(c.view().every(0, 2, 1)) == std::vector<float>{2, 3, 6, 7, 10, 11});
  CHECK(c.view().slice(0, 2, 2).range()->offset == 12 + 16);
  CHECK(!c.view().every(0, 2, 1).range());
  std::vector<Strided> parts;
  parts.push_back(std::move(c.view().slice(0, 4, 1)));
  parts.push_back(std::move(c.view().slice(0, 0, 2)));
  CHECK(values(*make_view("v", std::move(parts), quant::Type::kF32, make_view_tile())) ==
        std::vector<float>{8, 9, 0, 1, 2, 3});
}

TEST_CASE("values are scaled, shifted and turned into decays") {
  Counting c({3});
  CHECK(values_of(c.view().times(2).plus(1)) == std::vector<float>{1, 3, 5});
  CHECK(values_of(c.view().minus_exp()) ==
        std::vector<float>{-1, -std::exp(1.0f), -std::exp(2.0f)});
  const std::vector<float> soft = values_of(c.view().softplus());
  for (size_t i = 0; i < 3; ++i)
    CHECK(soft[i] == doctest::Approx(std::log1p(std::exp(static_cast<double>(i)))));
}

TEST_CASE("any range of a view is the same bytes, and two views share one tile") {
  // Large enough that a tile is a part of the tensor.
  Counting c({64, 40, 200});
  std::vector<Strided> parts, others;
  parts.push_back(std::move(c.view().swap(0, 1)));
  others.push_back(std::move(c.view().swap(1, 2)));
  const auto tile = make_view_tile();
  const auto view = make_view("v", std::move(parts), quant::Type::kF32, tile);
  const auto other = make_view("w", std::move(others), quant::Type::kF32, tile);
  const std::vector<float> whole = values(*view);
  for (size_t i = 0; i < whole.size(); i += 997) {
    const size_t x = i % 200, a = i / 200 % 64, b = i / 200 / 64;
    REQUIRE(whole[i] == static_cast<float>((a * 40 + b) * 200 + x));
  }
  std::minstd_rand random(1);
  for (int i = 0; i < 200; ++i) {
    const uint64_t at = random() % view->size();
    const auto n = static_cast<size_t>(random() % std::min<uint64_t>(view->size() - at, 5000));
    const std::vector<std::byte> part = read(*view, at, n);
    REQUIRE(std::memcmp(part.data(), reinterpret_cast<const char*>(whole.data()) + at, n) == 0);
    read(*other, at, n);
  }
}

TEST_CASE("a view of a source that answers late answers late") {
  Counting c({4, 4});
  io::ReadQueue queue;
  io::DeferredSource late(std::move(c.source), queue);
  std::vector<Strided> parts;
  parts.push_back(std::move(Strided(c.tensor, late).swap(0, 1)));
  const auto view = make_view("v", std::move(parts), quant::Type::kF32, make_view_tile());
  std::vector<std::byte> out(8);
  bool done = false;
  view->read(16, out, [&](base::Result<void> result) { done = result.has_value(); });
  CHECK(!done);
  while (queue.pump()) {
  }
  REQUIRE(done);
  float got[2];
  std::memcpy(got, out.data(), 8);
  CHECK(got[0] == 1);
  CHECK(got[1] == 5);
}

TEST_CASE("a step that does not fit the shape is reported with tensor and shape") {
  Counting c({6, 2});
  for (const Strided& view : {c.view().split(0, {4, 2}), c.view().slice(0, 5, 2),
                              c.view().swap(0, 2), c.view().every(0, 4, 0), c.view().split(3, {1}),
                              c.view().split(0, {uint64_t{1} << 63, 4})}) {
    const auto result = view.check();
    REQUIRE(!result.has_value());
    CHECK(result.error().message.find("Tensor \"t\" of shape [6, 2]") != std::string::npos);
  }
}

TEST_CASE("codes and scales of MLC are put together as blocks, and any range of them") {
  constexpr size_t kBlocks = 70'000;
  std::vector<std::byte> codes(16 * kBlocks), scales(2 * kBlocks);
  std::minstd_rand random(2);
  for (std::byte& b : codes) b = static_cast<std::byte>(random());
  for (std::byte& b : scales) b = static_cast<std::byte>(random());
  const auto source_c = io::from_memory("codes", std::span<const std::byte>(codes));
  const auto source_s = io::from_memory("scales", std::span<const std::byte>(scales));
  const auto blocks =
      make_blocks("blocks", BlockForm::kMlcF16, {source_c.get(), 0}, {source_s.get(), 0}, kBlocks);
  const std::vector<std::byte> whole = read(*blocks, 0, static_cast<size_t>(blocks->size()));
  for (size_t i = 0; i < kBlocks; ++i) {
    REQUIRE(std::memcmp(whole.data() + 18 * i, scales.data() + 2 * i, 2) == 0);
    REQUIRE(std::memcmp(whole.data() + 18 * i + 2, codes.data() + 16 * i, 16) == 0);
  }
  const std::vector<std::byte> part = read(*blocks, 18 * 5 + 7, 1000);
  CHECK(std::memcmp(part.data(), whole.data() + 18 * 5 + 7, 1000) == 0);
}

TEST_CASE("Hugging Face's mxfp4 codes decode to the same values in our order") {
  // Element i has the code i % 16.
  std::vector<std::byte> codes(16), scale = {std::byte{128}};
  for (size_t j = 0; j < 16; ++j)
    codes[j] = static_cast<std::byte>((2 * j % 16) | (2 * j + 1) % 16 << 4);
  const auto source_c = io::from_memory("codes", std::span<const std::byte>(codes));
  const auto source_s = io::from_memory("scales", std::span<const std::byte>(scale));
  const auto blocks =
      make_blocks("b", BlockForm::kMxfp4, {source_c.get(), 0}, {source_s.get(), 0}, 1);
  const std::vector<std::byte> block = read(*blocks, 0, 17);
  float decoded[32];
  quant::info(quant::Type::kMXFP4).decode(block.data(), decoded, 32);
  constexpr float kCodes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (size_t i = 0; i < 32; ++i) {
    const float magnitude = 2 * kCodes[i % 8];
    CHECK(decoded[i] == (i % 16 < 8 ? magnitude : -magnitude));
  }
}
