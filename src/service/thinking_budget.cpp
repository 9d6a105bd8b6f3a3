#include "service/thinking_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace puna::service {

using base::Result;

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

}  // namespace

Result<std::shared_ptr<ThinkingBudget>> ThinkingBudget::create(
    const tokenizer::Tokenizer& tokenizer, const chat::ReplyStyle& style, const Options& options,
    std::shared_ptr<engine::TokenFilter> inner) {
  if (tokenizer.decodes_in_context()) {
    return base::fail(base::ErrorCode::kUnsupported,
                      "The text of this model's tokens depends on those around them; its thinking "
                      "cannot be limited.");
  }
  if (options.message.size() > kMaxThinkingMessage) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("The message at the end of thinking has {} bytes; {} are the most.",
                    options.message.size(), kMaxThinkingMessage));
  }
  auto rules = std::make_shared<Rules>();
  rules->tokenizer = &tokenizer;
  rules->open = style.thinking_begins();
  rules->close = style.thinking_ends();
  rules->n_tokens = options.n_tokens;
  rules->control = options.control;
  rules->end = tokenizer.encode(options.message + rules->close, {.add_special = false});
  if (rules->end.empty()) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("The vocabulary cannot write \"{}\", so that thinking cannot be "
                                  "ended.",
                                  rules->close));
  }
  std::shared_ptr<ThinkingBudget> out(new ThinkingBudget(std::move(rules), std::move(inner)));
  State& first = out->states_.emplace_back();
  first.phase = options.open ? Phase::kThinking : Phase::kBefore;
  first.ending = out->is_to_end(first);
  out->show();
  return out;
}

bool ThinkingBudget::is_to_end(const State& state) const {
  if (state.phase != Phase::kThinking) return false;
  return state.n_thought >= rules_->n_tokens || (rules_->control && rules_->control->end);
}

void ThinkingBudget::show() const {
  if (!rules_->control) return;
  using Shown = ThinkingControl::Phase;
  const State& now = states_.back();
  Shown shown = Shown::kAnswering;
  if (now.phase == Phase::kThinking) shown = Shown::kThinking;
  if (now.phase == Phase::kBefore && !now.speaks) shown = Shown::kNotBegun;
  rules_->control->phase = shown;
}

std::optional<std::span<const uint32_t>> ThinkingBudget::allowed() {
  return inner_ ? inner_->allowed() : std::nullopt;
}

std::vector<int32_t> ThinkingBudget::forced() {
  const State& now = states_.back();
  if (now.ending) return {rules_->end.begin() + now.n_forced, rules_->end.end()};
  return inner_ ? inner_->forced() : std::vector<int32_t>();
}

void ThinkingBudget::take(int32_t id) {
  if (inner_) inner_->take(id);
  State next = states_.back();
  text_ += rules_->tokenizer->bytes(id, /*special=*/true);
  next.n_bytes = text_.size();
  if (next.ending) {
    // Whatever its tokens are in text, the thinking is over behind them.
    if (++next.n_forced == rules_->end.size()) next.phase = Phase::kEnded;
  } else if (next.phase == Phase::kThinking) {
    ++next.n_thought;
  }
  if (next.phase != Phase::kEnded) {
    const std::string& mark = next.phase == Phase::kBefore ? rules_->open : rules_->close;
    const size_t at = text_.find(mark, next.from);
    if (at != std::string::npos) {
      next.phase = next.phase == Phase::kBefore ? Phase::kThinking : Phase::kEnded;
      next.from = at + mark.size();
    } else if (text_.size() >= mark.size()) {
      next.from = std::max(next.from, text_.size() - mark.size() + 1);
    }
  }
  if (next.phase == Phase::kBefore && !next.speaks) {
    const std::string_view text = std::string_view(text_).substr(
        std::min(text_.find_first_not_of(kWhiteSpace), text_.size()));
    next.speaks = !rules_->open.starts_with(text);
  }
  next.ending = next.phase == Phase::kThinking && (next.ending || is_to_end(next));
  states_.push_back(next);
  show();
}

void ThinkingBudget::undo(uint32_t n) {
  if (inner_) inner_->undo(n);
  states_.resize(states_.size() - n);
  text_.resize(states_.back().n_bytes);
  show();
}

std::unique_ptr<engine::TokenFilter> ThinkingBudget::fork() const {
  auto out = std::make_unique<ThinkingBudget>(*this);
  if (inner_) out->inner_ = inner_->fork();
  return out;
}

}  // namespace puna::service
