#include "api/embedding_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace puna::api {

using base::Json;
using base::Result;

std::optional<HttpReply> no_embeddings(Dialect dialect, const service::LoadedModel& model) {
  if (model.engine->options().embeddings) return {};
  return HttpReply::json(
      error_body(dialect, 501,
                 fmt::format("The model {} was loaded to give text, no embeddings.", model.name)),
      501);
}

Result<void> check_pooling(const service::LoadedModel& model) {
  const models::Pooling pooling = model.engine->pooling();
  if (pooling != models::Pooling::kNone && pooling != models::Pooling::kRank) return {};
  return base::fail(
      base::ErrorCode::kInvalidArgument,
      fmt::format("The model {} gives {}, no embedding of a text.", model.name,
                  pooling == models::Pooling::kNone ? "a row for each token" : "scores"));
}

Result<Inputs> inputs_of(const Prompts& prompts, const service::LoadedModel& model) {
  Inputs out;
  for (const Prompt& prompt : prompts.list) {
    PUNA_TRY(out.tokens.emplace_back(), tokens_of(prompt, model));
    out.n_tokens += out.tokens.back().size();
  }
  return out;
}

void normalize(std::span<float> row, int norm) {
  if (norm < 0) return;
  double size = 0;
  for (const float v : row) {
    const double value = std::fabs(double{v});
    if (norm == 0) {
      size = std::max(size, value / 32760);
    } else {
      size += norm == 2 ? value * value : std::pow(value, norm);
    }
  }
  if (norm == 2) size = std::sqrt(size);
  if (norm > 0 && norm != 2) size = std::pow(size, 1.0 / norm);
  if (size == 0) return;
  for (float& v : row) v = static_cast<float>(v / size);
}

Json embedding_json(size_t index, std::span<const float> row, Encoding encoding) {
  Json out = Json::object();
  out.set("object", "embedding").set("index", static_cast<uint64_t>(index));
  if (encoding == Encoding::kBase64) {
    std::string bytes;
    for (const float v : row) {
      const auto bits = std::bit_cast<uint32_t>(v);
      for (int shift = 0; shift < 32; shift += 8)
        bytes += static_cast<char>(static_cast<unsigned char>(bits >> shift));
    }
    return out.set("embedding", base64(bytes));
  }
  Json values = Json::array();
  for (const float v : row) values.push(double{v});
  return out.set("embedding", std::move(values));
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < n ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += i <= n ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace puna::api
