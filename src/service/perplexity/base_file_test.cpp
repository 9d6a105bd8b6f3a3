#include "service/perplexity/base_file.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "service/perplexity/score.h"

namespace puna::service {
namespace {

constexpr uint32_t kContext = 7, kVocab = 5, kChunks = 2;  // counted: positions 3, 4 and 5

std::vector<std::byte> bytes_of_file() {
  std::vector<std::byte> bytes;
  const auto sink = io::to_memory(bytes);
  BaseHeader header{kContext, kVocab, kChunks};
  for (uint32_t i = 0; i < kContext * kChunks; ++i)
    header.tokens.push_back(static_cast<int32_t>(i % kVocab));
  REQUIRE(write_base_header(header, *sink));
  for (uint32_t row = 0; row < kChunks * n_counted(kContext); ++row) {
    std::vector<float> logits;
    for (uint32_t i = 0; i < kVocab; ++i) logits.push_back(static_cast<float>(row * i) / 4);
    std::vector<uint16_t> words(base_row_words(kVocab));
    make_base_row(logits, log_sum(logits), words);
    REQUIRE(sink->write(std::as_bytes(std::span(words))));
  }
  return bytes;
}

base::Result<BaseFile> open(std::vector<std::byte> bytes) {
  return base::run_until(BaseFile::open(io::from_memory("x.kld", std::move(bytes))), [] {});
}

void set(std::vector<std::byte>& bytes, size_t at, int32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

TEST_CASE("a base lies in the file as llama.cpp writes one") {
  const std::vector<std::byte> bytes = bytes_of_file();
  // Header, tokens, rows of two floats and codes, one more where the vocabulary is odd.
  CHECK(bytes.size() == 8 + 3 * 4 + 14 * 4 + 6 * (2 * 4 + 6 * 2));
  CHECK(std::memcmp(bytes.data(), "_logits_", 8) == 0);
  int32_t numbers[5];
  std::memcpy(numbers, bytes.data() + 8, sizeof numbers);
  CHECK(numbers[0] == 7);
  CHECK(numbers[1] == 5);
  CHECK(numbers[2] == 2);
  CHECK(numbers[3] == 0);
  CHECK(numbers[4] == 1);
}

TEST_CASE("rows come back, any of them, to half a step") {
  auto file = open(bytes_of_file());
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->header().tokens.size() == 14);
  std::vector<uint16_t> words(2 * base_row_words(kVocab));
  REQUIRE(base::run_until(file->read(4, words), [] {}));
  for (uint32_t r = 0; r < 2; ++r) {
    const BaseRow row = base_row(std::span(words).subspan(r * base_row_words(kVocab)), kVocab);
    std::vector<float> logits;
    for (uint32_t i = 0; i < kVocab; ++i) logits.push_back(static_cast<float>((4 + r) * i) / 4);
    const double sum = log_sum(logits);
    for (uint32_t i = 0; i < kVocab; ++i)
      CHECK(std::fabs(row.log_probability(i) - (logits[i] - sum)) <= row.scale * 0.51);
  }
}

TEST_CASE("rows without a range, and with tokens of no probability") {
  const float none = -std::numeric_limits<float>::infinity();
  std::vector<uint16_t> words(base_row_words(3));
  make_base_row(std::vector<float>{4, 4, 4}, 4 + std::log(3), words);
  BaseRow row = base_row(words, 3);
  CHECK(row.scale == 0);
  CHECK(row.log_probability(2) == doctest::Approx(-std::log(3)));
  make_base_row(std::vector<float>{none, 4, -90}, 4, words);
  row = base_row(words, 3);
  CHECK(row.log_probability(0) == doctest::Approx(-16));
  CHECK(row.log_probability(1) == doctest::Approx(0));
  CHECK(row.log_probability(2) == doctest::Approx(-16));
}

TEST_CASE("files that are no base are refused, with what is wrong") {
  const std::vector<std::byte> good = bytes_of_file();
  const auto message = [](std::vector<std::byte> bytes) {
    const auto file = open(std::move(bytes));
    REQUIRE(!file.has_value());
    CHECK(file.error().code == base::ErrorCode::kCorrupt);
    return file.error().message;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  for (size_t n = 0; n < good.size(); ++n) message({good.begin(), good.begin() + n});
  CHECK(has(message({good.begin(), good.end() - 1}), "195 bytes"));
  CHECK(has(message({}), "0 bytes"));
  std::vector<std::byte> bad = good;
  bad.push_back({});
  CHECK(has(message(bad), "197 bytes"));
  bad = good;
  bad[0] = std::byte{'x'};
  CHECK(has(message(bad), "_logits_"));
  for (const int32_t number : {-1, 0, 1, std::numeric_limits<int32_t>::max()}) {
    for (size_t field = 0; field < 3; ++field) {
      bad = good;
      set(bad, 8 + 4 * field, number);
      CHECK(has(message(bad), "chunks"));
    }
  }
  for (const int32_t id : {-1, 5}) {
    bad = good;
    set(bad, 20 + 4 * 9, id);
    CHECK(has(message(bad), "outside its vocabulary of 5"));
  }
  bad = good;
  set(bad, 20 + 4 * 14, 0x7fc00000);  // the first row's scale is NaN
  auto file = open(bad);
  REQUIRE(file.has_value());
  std::vector<uint16_t> words(base_row_words(kVocab));
  CHECK(has(base::run_until(file->read(0, words), [] {}).error().message, "nan"));
}

}  // namespace puna::service
