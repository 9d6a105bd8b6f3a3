// BannedStrings: a filter under which a text never holds one of some strings. A token is forbidden
// where it would complete one behind what is written, so nothing has to be taken back; a beginning
// of a string may stand. Strings are bytes of tokens: what a chat parser makes of them does not
// matter.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/token_filter.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

constexpr size_t kMaxBanned = 256;       // strings
constexpr size_t kMaxBannedBytes = 256;  // of one

class BannedStrings : public engine::TokenFilter {
 public:
  // vocab: tokens of the model, at least those of the tokenizer. Errors: kInvalidArgument for an
  // empty string, one that is too long, or too many; kUnsupported where the text of a token depends
  // on others.
  static base::Result<std::shared_ptr<BannedStrings>> create(const tokenizer::Tokenizer& tokenizer,
                                                             uint32_t vocab,
                                                             std::vector<std::string> banned);

  std::optional<std::span<const uint32_t>> allowed() override;
  std::vector<int32_t> forced() override { return {}; }
  void take(int32_t id) override;
  void undo(uint32_t n) override;
  std::unique_ptr<engine::TokenFilter> fork() const override;
  bool may_end() const override { return true; }
  bool done() const override { return false; }

 private:
  // What banned[string] lacks behind its first n_before bytes, and the tokens that begin with it.
  struct Rest {
    size_t string = 0, n_before = 0;
    std::vector<int32_t> ids;
  };
  struct Rules {
    std::vector<std::string> banned;
    std::vector<std::string> tokens;  // their bytes
    std::vector<uint32_t> never;      // bits of all but the tokens that hold a string themselves
    std::vector<Rest> rests;
  };
  explicit BannedStrings(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

  std::shared_ptr<const Rules> rules_;
  std::string text_;            // what was written
  std::vector<size_t> bytes_;   // of it, by token
  std::vector<uint32_t> bits_;  // as they are now; empty: to be made
};

}  // namespace puna::service
