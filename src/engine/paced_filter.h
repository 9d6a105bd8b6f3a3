// A text's filter as the scheduler goes by it: what the filter forces may be written at the pace of
// the other texts, one token a step, as the only one that is allowed.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/token_filter.h"

namespace puna::engine {

class PacedFilter : public TokenFilter {
 public:
  // `vocab`: how many ids there are.
  PacedFilter(std::shared_ptr<TokenFilter> inner, uint32_t vocab)
      : inner_(std::move(inner)), vocab_(vocab) {}

  // Leaves what forced() gave to the steps that follow; none may be left from before.
  void pace(std::vector<int32_t> ids) {
    paced_ = std::move(ids);
    n_written_ = 0;
  }
  // What of that has not been taken.
  std::span<const int32_t> paced() const { return std::span(paced_).subspan(n_written_); }

  std::optional<std::span<const uint32_t>> allowed() override {
    if (paced().empty()) return inner_->allowed();
    const auto id = static_cast<uint32_t>(paced().front());
    bits_.assign(filter_words(vocab_), 0);
    bits_[id / 32] = 1u << id % 32;
    return bits_;
  }
  std::vector<int32_t> forced() override {
    return paced().empty() ? inner_->forced() : std::vector(paced().begin(), paced().end());
  }
  void take(int32_t id) override {
    inner_->take(id);
    if (!paced().empty()) ++n_written_;
  }
  void undo(uint32_t n) override {
    inner_->undo(n);
    if (n > n_written_) paced_.clear();
    n_written_ -= std::min<size_t>(n, n_written_);
  }
  std::unique_ptr<TokenFilter> fork() const override {
    auto out = std::make_unique<PacedFilter>(inner_->fork(), vocab_);
    out->pace({paced().begin(), paced().end()});
    return out;
  }
  bool may_end() const override { return paced().empty() && inner_->may_end(); }
  bool done() const override { return inner_->done(); }
  std::optional<base::Error> error() const override { return inner_->error(); }

 private:
  std::shared_ptr<TokenFilter> inner_;
  uint32_t vocab_;
  std::vector<int32_t> paced_;
  size_t n_written_ = 0;  // of these
  std::vector<uint32_t> bits_;
};

}  // namespace puna::engine
