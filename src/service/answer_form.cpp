#include "service/answer_form.h"

#include <algorithm>
#include <utility>

#include "grammar/matcher.h"
#include "service/form_filter.h"

namespace puna::service {

using base::Json;
using base::Result;

namespace {

constexpr size_t kMostKept = 64;  // grammars of a model

Result<std::shared_ptr<const grammar::Grammar>> compiled(const AnswerForm& form) {
  grammar::Builder builder;
  PUNA_TRY(const grammar::Symbol start, write_form(builder, form));
  return std::move(builder).build(start);
}

Json json_of(const AnswerForm& form) {
  Json triggers = Json::array(), controls = Json::array();
  for (const grammar::Trigger& trigger : form.triggers)
    triggers.push(static_cast<int64_t>(trigger.kind)).push(trigger.text);
  for (const std::string& mark : form.controls) controls.push(mark);
  Json out = Json::array();
  out.push(static_cast<int64_t>(form.kind)).push(form.text).push(form.strict);
  return out.push(std::move(triggers)).push(std::move(controls));
}

Json json_of(const CallRules& rules) {
  Json names = Json::array();
  for (const std::string& name : rules.choice.names) names.push(name);
  Json out = Json::array();
  out.push(std::string(rules.style.name))
      .push(!rules.style.thinking.empty())
      .push(rules.tools)
      .push(rules.choice.required);
  out.push(rules.choice.one_call).push(std::move(names)).push(rules.thinking_open);
  return out.push(rules.form ? json_of(*rules.form) : Json());
}

}  // namespace

Result<void> check(const AnswerForm& form) {
  PUNA_TRY(compiled(form));
  return {};
}

Result<std::shared_ptr<engine::TokenFilter>> AnswerForms::filter(const AnswerForm& form,
                                                                 const chat::ReplyStyle* style,
                                                                 bool thinking_open) {
  PUNA_TRY(std::shared_ptr<grammar::Masks> masks, this->masks());
  PUNA_TRY(auto grammar, this->grammar(json_of(form).dump(), [&] { return compiled(form); }));
  // What is free has room for everything that may come before the answer.
  const bool framed = style && form.triggers.empty();
  return std::make_shared<FormFilter>(
      tokenizer_, vocab_, framed ? frame_of(*style, tokenizer_) : AnswerFrame{},
      framed && thinking_open,
      std::make_unique<grammar::Matcher>(std::move(grammar), std::move(masks)));
}

Result<std::shared_ptr<engine::TokenFilter>> AnswerForms::filter(const CallRules& rules) {
  PUNA_TRY(std::shared_ptr<grammar::Masks> masks, this->masks());
  PUNA_TRY(auto grammar,
           this->grammar(json_of(rules).dump(), [&] { return compile_calls(rules, tokenizer_); }));
  return std::make_shared<FormFilter>(
      tokenizer_, vocab_, AnswerFrame{}, /*thinking_open=*/false,
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

AnswerForms::Compiled AnswerForms::grammar(std::string key,
                                           const std::function<Compiled()>& compile) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(kept_, key, &Kept::key);
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return found->grammar;
    }
  }
  // Outside of the lock: a second request for the same form compiles it too, and waits for
  // nobody.
  PUNA_TRY(auto grammar, compile());
  const std::scoped_lock lock(mutex_);
  kept_.push_front({std::move(key), grammar});
  if (kept_.size() > kMostKept) kept_.pop_back();
  return grammar;
}

}  // namespace puna::service
