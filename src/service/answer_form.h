// AnswerForms: grammars of one model's answers. What a request wants its answer to be is compiled
// once and kept; each text gets a filter of its own. Any thread may ask.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "chat/parsers.h"
#include "engine/token_filter.h"
#include "grammar/grammar.h"
#include "grammar/masks.h"
#include "service/request.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

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

 private:
  struct Kept {
    AnswerForm form;
    std::shared_ptr<const grammar::Grammar> grammar;
  };
  base::Result<std::shared_ptr<grammar::Masks>> masks();
  std::shared_ptr<const grammar::Grammar> known(const AnswerForm& form);
  void keep(const AnswerForm& form, std::shared_ptr<const grammar::Grammar> grammar);

  const tokenizer::Tokenizer& tokenizer_;
  uint32_t vocab_;
  std::mutex mutex_;
  std::shared_ptr<grammar::Masks> masks_;  // made when they are first asked for
  std::list<Kept> kept_;                   // the last used first
};

}  // namespace puna::service
