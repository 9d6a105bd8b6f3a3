#include "cli/form_flags.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cli/options.h"
#include "cli/text_file.h"

namespace puna::cli {

using base::Result;
using service::AnswerForm;

namespace {

std::string_view name_of(AnswerForm::Kind kind) {
  switch (kind) {
    case AnswerForm::Kind::kSchema:
      return "the JSON schema of --format";
    case AnswerForm::Kind::kGrammar:
      return "the grammar of --grammar";
    default:
      return "the regular expression of --regex";
  }
}

}  // namespace

void add_form_flags(CLI::App& app, FormFlags& flags) {
  not_empty(app.add_option("--format", flags.format,
                           "json: the answer is a JSON object; FILE: it is JSON that this JSON "
                           "schema admits"));
  not_empty(app.add_option("--grammar", flags.grammar,
                           "A file with a grammar (GBNF) that the answer has to fit"));
  not_empty(app.add_option("--regex", flags.regex,
                           "A regular expression that the whole answer has to match"));
}

Result<std::optional<AnswerForm>> read_form(const FormFlags& flags) {
  if (flags.format.has_value() + flags.grammar.has_value() + flags.regex.has_value() > 1) {
    return base::fail(base::ErrorCode::kUsage,
                      "--format, --grammar and --regex each say what the answer is; one of them "
                      "may be given.");
  }
  AnswerForm out;
  if (flags.format) {
    out.kind = AnswerForm::Kind::kSchema;
    out.text = R"({"type":"object"})";
    if (*flags.format != "json") {
      PUNA_TRY(out.text, read_text_file("JSON schema", *flags.format));
    }
  } else if (flags.grammar) {
    out.kind = AnswerForm::Kind::kGrammar;
    PUNA_TRY(out.text, read_text_file("grammar", *flags.grammar));
  } else if (flags.regex) {
    out.kind = AnswerForm::Kind::kRegex;
    out.text = *flags.regex;
  } else {
    return std::nullopt;
  }
  return out;
}

Result<void> check_form(const service::LoadedModel& model, const AnswerForm& form) {
  PUNA_TRY_CONTEXT(service::tokenizer_of(model), "While binding the answer");
  PUNA_TRY_CONTEXT(model.forms->filter(form, nullptr, /*thinking_open=*/false),
                   fmt::format("While reading {}", name_of(form.kind)));
  return {};
}

}  // namespace puna::cli
