// A filter for measuring: every other token of the vocabulary is allowed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/token_filter.h"

namespace puna::engine {

class HalfFilter : public TokenFilter {
 public:
  explicit HalfFilter(uint32_t vocab) : bits_(filter_words(vocab), 0x55555555) {
    if (vocab % 32 != 0) bits_.back() &= (1u << vocab % 32) - 1;
  }

  std::optional<std::span<const uint32_t>> allowed() override { return bits_; }
  std::vector<int32_t> forced() override { return {}; }
  void take(int32_t) override {}
  void undo(uint32_t) override {}
  std::unique_ptr<TokenFilter> fork() const override { return std::make_unique<HalfFilter>(*this); }
  bool may_end() const override { return true; }
  bool done() const override { return false; }

 private:
  std::vector<uint32_t> bits_;
};

}  // namespace puna::engine
