#include "service/banned_strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace puna::service {

using base::ErrorCode;
using base::Result;

namespace {

Result<void> check(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& banned) {
  if (banned.size() > kMaxBanned) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} strings are banned, but at most {} can be.", banned.size(), kMaxBanned));
  }
  for (const std::string& string : banned) {
    if (!string.empty() && string.size() <= kMaxBannedBytes) continue;
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("A banned string has {} bytes, but 1 to {} are expected.",
                                  string.size(), kMaxBannedBytes));
  }
  if (!tokenizer.decodes_in_context()) return {};
  return base::fail(ErrorCode::kUnsupported,
                    "The text of this model's tokens depends on those around them; no strings can "
                    "be banned.");
}

void forbid(std::vector<uint32_t>& bits, int32_t id) {
  const auto at = static_cast<uint32_t>(id);
  bits[at / 32] &= ~(1u << at % 32);
}

}  // namespace

Result<std::shared_ptr<BannedStrings>> BannedStrings::create(const tokenizer::Tokenizer& tokenizer,
                                                             uint32_t vocab,
                                                             std::vector<std::string> banned) {
  PUNA_TRY(check(tokenizer, banned));
  auto rules = std::make_shared<Rules>();
  rules->banned = std::move(banned);
  rules->never.assign(engine::filter_words(vocab), ~0u);
  if (vocab % 32 != 0) rules->never.back() = (1u << vocab % 32) - 1;
  std::array<std::vector<size_t>, 256> by_first_byte;  // of rests
  for (size_t s = 0; s < rules->banned.size(); ++s) {
    for (size_t n = 1; n < rules->banned[s].size(); ++n) {
      by_first_byte[static_cast<unsigned char>(rules->banned[s][n])].push_back(rules->rests.size());
      rules->rests.push_back({s, n, {}});
    }
  }
  for (int32_t id = 0; id < tokenizer.n_tokens(); ++id) {
    const std::string& bytes = rules->tokens.emplace_back(tokenizer.bytes(id));
    if (bytes.empty()) continue;
    const bool holds = std::ranges::any_of(rules->banned, [&](const std::string& string) {
      return bytes.find(string) != std::string::npos;
    });
    if (holds) {
      forbid(rules->never, id);
      continue;
    }
    for (const size_t rest : by_first_byte[static_cast<unsigned char>(bytes[0])]) {
      Rest& r = rules->rests[rest];
      if (bytes.starts_with(std::string_view(rules->banned[r.string]).substr(r.n_before)))
        r.ids.push_back(id);
    }
  }
  return std::shared_ptr<BannedStrings>(new BannedStrings(std::move(rules)));
}

std::optional<std::span<const uint32_t>> BannedStrings::allowed() {
  if (!bits_.empty()) return bits_;
  bits_ = rules_->never;
  for (const Rest& rest : rules_->rests) {
    if (!text_.ends_with(std::string_view(rules_->banned[rest.string]).substr(0, rest.n_before)))
      continue;
    for (const int32_t id : rest.ids) forbid(bits_, id);
  }
  return bits_;
}

void BannedStrings::take(int32_t id) {
  const auto at = static_cast<size_t>(id);
  const std::string& bytes = at < rules_->tokens.size() ? rules_->tokens[at] : std::string();
  text_ += bytes;
  bytes_.push_back(bytes.size());
  bits_.clear();
}

void BannedStrings::undo(uint32_t n) {
  for (; n > 0; --n) {
    text_.resize(text_.size() - bytes_.back());
    bytes_.pop_back();
  }
  bits_.clear();
}

std::unique_ptr<engine::TokenFilter> BannedStrings::fork() const {
  return std::make_unique<BannedStrings>(*this);
}

}  // namespace puna::service
