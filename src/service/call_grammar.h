// Answers that may call tools, as grammars: the frame of a family's calls (chat/call_frame.h), the
// schemas of the tools' parameters and what the request says of calls.
#pragma once

#include <memory>
#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "chat/parsers.h"
#include "grammar/grammar.h"
#include "service/request.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

struct CallRules {
  const chat::ReplyStyle& style;  // with a frame
  const base::Json& tools;        // a list, as the OpenAI interface has it
  const ToolChoice& choice;
  const std::optional<AnswerForm>& form;       // what an answer without calls is; none: it is free
  bool thinking_open = false;                  // the prompt has begun the thinking already
  std::optional<grammar::Limits> limits = {};  // none: so much for each tool
};

// The rule of a form in a grammar with more in it. Errors: those of the grammar's front end.
base::Result<grammar::Symbol> write_form(grammar::Builder& builder, const AnswerForm& form);

// The grammar of all that such an answer may be, its thinking too. Errors: see AnswerForms::filter.
base::Result<std::shared_ptr<const grammar::Grammar>> compile_calls(
    const CallRules& rules, const tokenizer::Tokenizer& tokenizer);

}  // namespace puna::service
