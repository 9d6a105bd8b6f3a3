// FormFilter: a text that keeps to a grammar behind what comes before its answer: thinking, which
// passes free, and the marks that a family puts before an answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chat/parsers.h"
#include "engine/token_filter.h"
#include "grammar/matcher.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

// What may and must stand before an answer, as tokens.
struct AnswerFrame {
  std::vector<int32_t> think_open;  // empty: thinking is not marked
  std::string think_close;
  std::vector<int32_t> begins;         // before an answer without thinking; empty: nothing
  std::vector<int32_t> begins_behind;  // behind thinking
};
AnswerFrame frame_of(const chat::ReplyStyle& style, const tokenizer::Tokenizer& tokenizer);

class FormFilter : public engine::TokenFilter {
 public:
  // vocab: tokens of the model; thinking_open: the text begins inside of thinking.
  FormFilter(const tokenizer::Tokenizer& tokenizer, uint32_t vocab, AnswerFrame frame,
             bool thinking_open, std::unique_ptr<grammar::Matcher> matcher);

  std::optional<std::span<const uint32_t>> allowed() override;
  std::vector<int32_t> forced() override;
  void take(int32_t id) override;
  void undo(uint32_t n) override;
  std::unique_ptr<engine::TokenFilter> fork() const override;
  bool may_end() const override { return now().phase == Phase::kBound && matcher_->may_end(); }
  bool done() const override { return now().phase == Phase::kBound && matcher_->done(); }
  std::optional<base::Error> error() const override { return matcher_->error(); }

 private:
  // Before the answer either thinking or the answer's marks begin; behind thinking only the latter.
  enum class Phase : uint8_t { kBefore, kThinking, kBehind, kBound };
  struct Rules {
    const tokenizer::Tokenizer* tokenizer = nullptr;
    uint32_t vocab = 0;
    AnswerFrame frame;
    std::vector<uint32_t> no_end;  // bits of all tokens but those that end a text
  };
  struct State {
    Phase phase = Phase::kBound;
    std::array<bool, 2> begun = {};  // which of marks() are being written, where n_marked > 0
    uint32_t n_marked = 0;           // tokens of them
    size_t n_bytes = 0;              // of the thinking
    size_t from = 0;                 // where the thinking is searched for its end
    bool matched = false;            // the matcher has taken the token
  };
  // Marks that may stand where the text is, and where it is behind them.
  struct Marks {
    const std::vector<int32_t>* ids = nullptr;
    Phase then = Phase::kBound;
  };
  FormFilter(const FormFilter& other);

  const State& now() const { return states_.back(); }
  State begin_answer(State state, bool behind) const;
  std::array<Marks, 2> marks() const;
  std::array<int32_t, 2> next_of_marks() const;
  bool may_be_bound() const;  // the next token may be the grammar's
  void take_thought(int32_t id, State& next);
  void take_mark(int32_t id, State& next) const;

  std::shared_ptr<const Rules> rules_;
  std::unique_ptr<grammar::Matcher> matcher_;
  std::string thinking_;
  std::vector<State> states_;  // behind each token; the first is of none
  std::vector<uint32_t> bits_;
};

}  // namespace puna::service
