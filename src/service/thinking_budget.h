// ThinkingBudget: a filter that ends the thinking of an answer after so many tokens, or when it is
// told to. It lets everything pass; when the tokens are used up, a message and the mark behind
// thinking are what comes next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/parsers.h"
#include "engine/token_filter.h"
#include "service/thinking_control.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

constexpr size_t kMaxThinkingMessage = 4096;  // bytes

class ThinkingBudget : public engine::TokenFilter {
 public:
  struct Options {
    uint32_t n_tokens = 0;     // of thinking at most, the marks not counted
    std::string message = {};  // stands before the mark that ends it
    bool open = false;         // the prompt has begun the thinking already
    // Who else may end it; null: nobody.
    std::shared_ptr<ThinkingControl> control = nullptr;
  };
  // style: of the model, which marks its thinking; inner: what the text has to pass besides, or
  // null. Errors: kInvalidArgument for a message that is too long; kUnsupported where the text of a
  // token depends on others, or the vocabulary cannot write the mark.
  static base::Result<std::shared_ptr<ThinkingBudget>> create(
      const tokenizer::Tokenizer& tokenizer, const chat::ReplyStyle& style, const Options& options,
      std::shared_ptr<engine::TokenFilter> inner);

  std::optional<std::span<const uint32_t>> allowed() override;
  std::vector<int32_t> forced() override;
  void take(int32_t id) override;
  void undo(uint32_t n) override;
  std::unique_ptr<engine::TokenFilter> fork() const override;
  bool may_end() const override { return !inner_ || inner_->may_end(); }
  bool done() const override { return inner_ && inner_->done(); }
  std::optional<base::Error> error() const override {
    return inner_ ? inner_->error() : std::nullopt;
  }

 private:
  enum class Phase : uint8_t { kBefore, kThinking, kEnded };
  struct Rules {
    const tokenizer::Tokenizer* tokenizer = nullptr;
    std::string open, close;
    uint32_t n_tokens = 0;
    std::vector<int32_t> end;  // the message and the mark
    std::shared_ptr<ThinkingControl> control;
  };
  // What there was behind each token.
  struct State {
    Phase phase = Phase::kBefore;
    bool ending = false;  // the thinking: what is forced comes next
    bool speaks = false;  // before any thinking there is text that is not the beginning of its mark
    uint32_t n_thought = 0;
    uint32_t n_forced = 0;  // tokens of Rules::end
    size_t n_bytes = 0;     // of the text
    size_t from = 0;        // where the text is searched for the next mark
  };
  explicit ThinkingBudget(std::shared_ptr<const Rules> rules,
                          std::shared_ptr<engine::TokenFilter> inner)
      : rules_(std::move(rules)), inner_(std::move(inner)) {}
  // Whether thinking that is under way is to be over.
  bool is_to_end(const State& state) const;
  // Says of the last state what others may see.
  void show() const;

  std::shared_ptr<const Rules> rules_;
  std::shared_ptr<engine::TokenFilter> inner_;
  std::string text_;           // what was written, with marks
  std::vector<State> states_;  // the first is of no tokens
};

}  // namespace puna::service
