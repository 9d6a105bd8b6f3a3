#include "service/answer_form.h"

#include <algorithm>
#include <utility>

#include "grammar/gbnf.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/matcher.h"
#include "grammar/regex.h"
#include "service/form_filter.h"

namespace puna::service {

using base::Result;

namespace {

constexpr size_t kMostKept = 64;  // grammars of a model

Result<std::shared_ptr<const grammar::Grammar>> compiled(const AnswerForm& form) {
  switch (form.kind) {
    case AnswerForm::Kind::kSchema:
      return grammar::compile_json_schema_text(form.text, {.strict = form.strict});
    case AnswerForm::Kind::kGrammar:
      return grammar::gbnf_grammar(form.text);
    case AnswerForm::Kind::kRegex:
      break;
  }
  return grammar::regex_grammar(form.text);
}

}  // namespace

Result<std::shared_ptr<engine::TokenFilter>> AnswerForms::filter(const AnswerForm& form,
                                                                 const chat::ReplyStyle* style,
                                                                 bool thinking_open) {
  PUNA_TRY(std::shared_ptr<grammar::Masks> masks, this->masks());
  std::shared_ptr<const grammar::Grammar> grammar = known(form);
  if (!grammar) {
    // Outside of the lock: a second request for the same form compiles it too, and waits for
    // nobody.
    PUNA_TRY(grammar, compiled(form));
    keep(form, grammar);
  }
  return std::make_shared<FormFilter>(
      tokenizer_, vocab_, style ? frame_of(*style, tokenizer_) : AnswerFrame{}, thinking_open,
      std::make_unique<grammar::Matcher>(std::move(grammar), std::move(masks)));
}

Result<std::shared_ptr<grammar::Masks>> AnswerForms::masks() {
  const std::scoped_lock lock(mutex_);
  if (!masks_) {
    PUNA_TRY(auto vocabulary, grammar::GrammarVocabulary::create(tokenizer_));
    masks_ = std::make_shared<grammar::Masks>(std::move(vocabulary));
  }
  return masks_;
}

std::shared_ptr<const grammar::Grammar> AnswerForms::known(const AnswerForm& form) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(kept_, form, &Kept::form);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->grammar;
}

void AnswerForms::keep(const AnswerForm& form, std::shared_ptr<const grammar::Grammar> grammar) {
  const std::scoped_lock lock(mutex_);
  kept_.push_front({form, std::move(grammar)});
  if (kept_.size() > kMostKept) kept_.pop_back();
}

}  // namespace puna::service
