// AnswerForms: grammars of one model's answers. What a request wants its answer to be is compiled
// once and kept; each text gets a filter of its own. Any thread may ask.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "chat/parsers.h"
#include "engine/token_filter.h"
#include "grammar/grammar.h"
#include "grammar/masks.h"
#include "service/call_grammar.h"
#include "service/request.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

// Whether answers can have this form at all, whatever the model. Errors: those of the grammar's
// front end (kInvalidArgument, kUnsupported, kCorrupt).
base::Result<void> check(const AnswerForm& form);

class AnswerForms {
 public:
  // vocab: tokens of the model, at least those of the tokenizer, which has to stay.
  AnswerForms(const tokenizer::Tokenizer& tokenizer, uint32_t vocab)
      : tokenizer_(tokenizer), vocab_(vocab) {}

  // style: of answers to messages, whose thinking passes free before the answer; null: the text is
  // the answer from its first token on. thinking_open: the prompt has begun the thinking already.
  // Errors: those of the grammar's front end (kInvalidArgument, kUnsupported, kCorrupt);
  // kUnsupported where the text of a token depends on those around it.
  base::Result<std::shared_ptr<engine::TokenFilter>> filter(const AnswerForm& form,
                                                            const chat::ReplyStyle* style,
                                                            bool thinking_open);
  // An answer to messages that may call tools. Errors: the same, in the parameters of a tool with
  // its name; kUnsupported where calls are required that the style does not have, and for a tool
  // whose name it cannot write.
  base::Result<std::shared_ptr<engine::TokenFilter>> filter(const CallRules& rules);

 private:
  struct Kept {
    std::string key;  // what it is of
    std::shared_ptr<const grammar::Grammar> grammar;
  };
  using Compiled = base::Result<std::shared_ptr<const grammar::Grammar>>;
  base::Result<std::shared_ptr<grammar::Masks>> masks();
  // The grammar that is kept under the key, or that `compile` gives.
  Compiled grammar(std::string key, const std::function<Compiled()>& compile);

  const tokenizer::Tokenizer& tokenizer_;
  uint32_t vocab_;
  std::mutex mutex_;
  std::shared_ptr<grammar::Masks> masks_;  // made when they are first asked for
  std::list<Kept> kept_;                   // the last used first
};

}  // namespace puna::service
