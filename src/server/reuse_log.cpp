#include "server/reuse_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/printable.h"

namespace puna::server {
namespace {

constexpr size_t kClients = 64;      // whose last prompt is kept
constexpr size_t kLeastTokens = 64;  // a prompt that is shorter costs nothing
constexpr size_t kShown = 8;         // tokens

std::string text_at(std::span<const int32_t> prompt, size_t at,
                    const tokenizer::Tokenizer* tokenizer) {
  const auto shown = prompt.subspan(at, std::min(kShown, prompt.size() - at));
  if (!tokenizer) return fmt::format("{}", fmt::join(shown, " "));
  return base::printable(tokenizer->decode({shown.begin(), shown.end()}, /*special=*/true));
}

}  // namespace

std::optional<std::string> ReuseLog::note(const std::string& client, std::vector<int32_t> prompt,
                                          uint32_t n_cached,
                                          const tokenizer::Tokenizer* tokenizer) {
  if (prompt.size() < kLeastTokens) return {};
  const double share = static_cast<double>(n_cached) / static_cast<double>(prompt.size());
  const std::lock_guard lock(mutex_);
  const auto found = by_client_.find(client);
  if (found == by_client_.end()) {
    turns_.push_front({client, std::move(prompt), share});
    by_client_[client] = turns_.begin();
    if (turns_.size() > kClients) {
      by_client_.erase(turns_.back().client);
      turns_.pop_back();
    }
    return {};
  }
  turns_.splice(turns_.begin(), turns_, found->second);
  Turn& turn = turns_.front();
  const Turn before = std::exchange(turn, {client, std::move(prompt), share});
  const auto parts = std::ranges::mismatch(before.prompt, turn.prompt);
  const auto at = static_cast<size_t>(parts.in1 - before.prompt.begin());
  // One that goes on behind all of the last, or in its second half, lost nothing by what it says.
  if (share >= before.share / 2 || 2 * at >= before.prompt.size() || parts.in2 == turn.prompt.end())
    return {};
  return fmt::format(
      "of the {} tokens of a prompt {} were known, of the one before {:.0f} %; the first that "
      "differs is token {}: \"{}\", before \"{}\"",
      turn.prompt.size(), n_cached, 100 * before.share, at, text_at(turn.prompt, at, tokenizer),
      text_at(before.prompt, at, tokenizer));
}

}  // namespace puna::server
