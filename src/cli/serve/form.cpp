// What answers are where a request does not say: of a grammar, of a schema.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/serve/table.h"
#include "cli/text_file.h"
#include "service/answer_form.h"

namespace puna::cli::serve {
namespace {

using base::Result;
using Kind = service::AnswerForm::Kind;

// What is wrong is told before the model is read.
Result<void> set_form(ServeFlags& flags, Kind kind, std::string_view option,
                      std::string_view text) {
  service::AnswerForm form{.kind = kind, .text = std::string(text)};
  if (const auto possible = service::check(form); !possible) {
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("{} says nothing that answers could fit: {}", option, possible.error().text()));
  }
  flags.defaults.emplace_back(
      [form = std::move(form)](service::Defaults& defaults) { defaults.request.form = form; });
  return {};
}

Result<void> read_schema(ServeFlags& flags, std::string_view option, std::string_view text) {
  if (const auto schema = base::Json::parse(text); !schema) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("{} is no JSON: {}", option, schema.error().text()));
  }
  return set_form(flags, Kind::kSchema, option, text);
}

Read from_file(std::string_view what, Read read) {
  return [what, read = std::move(read)](ServeFlags& flags, std::string_view option,
                                        std::string_view path) -> Result<void> {
    PUNA_TRY(const std::string text, read_text_file(what, std::string(path)));
    return read(flags, option, text);
  };
}

std::vector<Flag> form_rows() {
  const auto read_grammar = [](ServeFlags& flags, std::string_view option,
                               std::string_view text) -> Result<void> {
    return set_form(flags, Kind::kGrammar, option, text);
  };
  std::vector<Flag> out;
  out.push_back(value("--grammar", "GBNF", "Answers fit this grammar", read_grammar));
  out.push_back(
      value("--grammar-file", "PATH", "The same from a file", from_file("grammar", read_grammar)));
  out.push_back(value("-j,--json-schema", "JSON",
                      "Answers are JSON that this schema admits; "
                      "{} admits all",
                      read_schema));
  out.push_back(with(value("--json-schema-file", "PATH", "The same from a file",
                           from_file("JSON schema", read_schema)),
                     nullptr, "-jf"));
  return out;
}

}  // namespace

std::span<const Flag> form_flags() {
  static const std::vector<Flag> kRows = form_rows();
  return kRows;
}

}  // namespace puna::cli::serve
