// Filters for tests: half of the vocabulary, or any set; forced runs after some tokens; an end.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/token_filter.h"

namespace puna::engine::test {

class TestFilter : public TokenFilter {
 public:
  struct Rules {
    uint32_t vocab = 0;
    // Whether a token may follow a text; null: all may, and allowed() gives none.
    std::function<bool(std::span<const int32_t> text, int32_t id)> allows;
    // What has to follow a text; null: nothing.
    std::function<std::vector<int32_t>(std::span<const int32_t> text)> forces;
    size_t complete = SIZE_MAX;  // tokens, from which on the text may end
    size_t most = SIZE_MAX;      // tokens, after which it has to
    std::optional<base::Error> error = {};
  };
  explicit TestFilter(Rules rules) : rules_(std::move(rules)) {}

  std::optional<std::span<const uint32_t>> allowed() override {
    if (!rules_.allows) return {};
    bits_.assign(filter_words(rules_.vocab), 0);
    for (uint32_t id = 0; id < rules_.vocab; ++id) {
      if (rules_.allows(text_, static_cast<int32_t>(id))) bits_[id / 32] |= 1u << id % 32;
    }
    return bits_;
  }
  std::vector<int32_t> forced() override {
    return rules_.forces ? rules_.forces(text_) : std::vector<int32_t>();
  }
  void take(int32_t id) override {
    PUNA_CHECK(!rules_.allows || rules_.allows(text_, id));
    text_.push_back(id);
    forget_bits();
  }
  void undo(uint32_t n) override {
    text_.resize(text_.size() - n);
    forget_bits();
  }
  std::unique_ptr<TokenFilter> fork() const override { return std::make_unique<TestFilter>(*this); }
  bool may_end() const override { return text_.size() >= rules_.complete; }
  bool done() const override { return text_.size() >= rules_.most; }
  std::optional<base::Error> error() const override { return rules_.error; }

 private:
  // Who still reads what allowed() gave before is let choose nothing.
  void forget_bits() { std::ranges::fill(bits_, 0u); }

  Rules rules_;
  std::vector<int32_t> text_;  // that was taken
  std::vector<uint32_t> bits_;
};

}  // namespace puna::engine::test
