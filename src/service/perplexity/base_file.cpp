#include "service/perplexity/base_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace puna::service {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

constexpr char kMagic[] = {'_', 'l', 'o', 'g', 'i', 't', 's', '_'};
constexpr size_t kHeadBytes = sizeof(kMagic) + 3 * sizeof(int32_t);
constexpr float kDepth = 16;              // below the likeliest, all is as unlikely
constexpr int32_t kMostTokens = 1 << 24;  // of a chunk or a vocabulary: more is no model's

// Where the rows of a file with this header end; none when that is beyond `limit`.
std::optional<uint64_t> end_of(const BaseHeader& header, uint64_t rows_at, uint64_t limit) {
  const uint64_t row = base_row_words(header.n_vocab) * sizeof(uint16_t);
  const uint64_t n = uint64_t{header.n_chunks} * n_counted(header.n_ctx);
  if (rows_at > limit || n > (limit - rows_at) / row) return std::nullopt;
  return rows_at + n * row;
}

}  // namespace

BaseRow base_row(std::span<const uint16_t> words, uint32_t n_vocab) {
  BaseRow row;
  std::memcpy(&row.scale, words.data(), sizeof(float));
  std::memcpy(&row.lowest, words.data() + 2, sizeof(float));
  row.codes = words.subspan(4, n_vocab);
  return row;
}

void make_base_row(std::span<const float> logits, double log_sum, std::span<uint16_t> words) {
  const auto [least, most] = std::minmax_element(logits.begin(), logits.end());
  const float low = std::max(*least, *most - kDepth);
  const float scale = (*most - low) / 65535;
  const auto lowest = static_cast<float>(low - log_sum);
  std::memcpy(words.data(), &scale, sizeof scale);
  std::memcpy(words.data() + 2, &lowest, sizeof lowest);
  const float inverse = scale > 0 ? 1 / scale : 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const float code = (std::max(logits[i], low) - low) * inverse + 0.5f;
    words[4 + i] = static_cast<uint16_t>(std::min(code, 65535.0f));
  }
  std::fill(words.begin() + 4 + static_cast<ptrdiff_t>(logits.size()), words.end(), uint16_t{0});
}

Result<void> write_base_header(const BaseHeader& header, io::ByteSink& sink) {
  const uint32_t sizes[] = {header.n_ctx, header.n_vocab, header.n_chunks};
  PUNA_TRY(sink.write(std::as_bytes(std::span(kMagic))));
  PUNA_TRY(sink.write(std::as_bytes(std::span(sizes))));
  return sink.write(std::as_bytes(std::span(header.tokens)));
}

Task<Result<BaseFile>> BaseFile::open(std::unique_ptr<io::ByteSource> source) {
  const auto corrupt = [name = source->name()](std::string what) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("{} is no base of log-probabilities: {}", name, what));
  };
  std::array<std::byte, kHeadBytes> head{};
  if (source->size() < head.size()) {
    co_return corrupt(
        fmt::format("it has {} bytes, and a header has {}.", source->size(), head.size()));
  }
  PUNA_CO_TRY(co_await io::read(*source, 0, head));
  if (std::memcmp(head.data(), kMagic, sizeof kMagic) != 0)
    co_return corrupt("it does not begin with \"_logits_\".");
  int32_t sizes[3];
  std::memcpy(sizes, head.data() + sizeof kMagic, sizeof sizes);
  const auto [n_ctx, n_vocab, n_chunks] = sizes;
  if (n_ctx < int32_t{kLeastChunk} || n_ctx > kMostTokens || n_vocab < 1 || n_vocab > kMostTokens ||
      n_chunks < 1) {
    co_return corrupt(
        fmt::format("its header says {} chunks of {} tokens of a vocabulary of {}; chunks have {} "
                    "tokens or more.",
                    n_chunks, n_ctx, n_vocab, kLeastChunk));
  }
  BaseFile file;
  BaseHeader& header = file.header_;
  header = {static_cast<uint32_t>(n_ctx), static_cast<uint32_t>(n_vocab),
            static_cast<uint32_t>(n_chunks)};
  const uint64_t n_tokens = uint64_t{header.n_chunks} * header.n_ctx;
  file.rows_at_ = kHeadBytes + n_tokens * sizeof(int32_t);
  if (end_of(header, file.rows_at_, source->size()) != source->size()) {
    co_return corrupt(fmt::format(
        "it has {} bytes, which is not what {} chunks of {} tokens of a vocabulary of {} take; was "
        "the program that wrote it stopped?",
        source->size(), n_chunks, n_ctx, n_vocab));
  }
  header.tokens.resize(n_tokens);
  PUNA_CO_TRY(
      co_await io::read(*source, kHeadBytes, std::as_writable_bytes(std::span(header.tokens))));
  for (const int32_t id : header.tokens) {
    if (id < 0 || id >= n_vocab) {
      co_return corrupt(
          fmt::format("it has token {}, which is outside its vocabulary of {}.", id, n_vocab));
    }
  }
  file.source_ = std::move(source);
  co_return file;
}

Task<Result<void>> BaseFile::read(uint64_t first, std::span<uint16_t> words) {
  const size_t n = base_row_words(header_.n_vocab);
  PUNA_CO_TRY(co_await io::read(*source_, rows_at_ + first * n * sizeof(uint16_t),
                                std::as_writable_bytes(words)));
  for (size_t at = 0; at < words.size(); at += n) {
    const BaseRow row = base_row(words.subspan(at, n), header_.n_vocab);
    if (std::isfinite(row.scale) && std::isfinite(row.lowest) && row.scale >= 0) continue;
    co_return base::fail(ErrorCode::kCorrupt,
                         fmt::format("Row {} of {} begins with {} and {}, which are no step and "
                                     "no lowest of log-probabilities.",
                                     first + at / n, name(), row.scale, row.lowest));
  }
  co_return {};
}

}  // namespace puna::service
