// puna tokenize and puna detokenize.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"

namespace puna::cli {
namespace {

struct TokenizeFlags {
  ModelFlags model;
  std::string text = "-";
  bool no_special = false;
  bool json = false;
};

base::Result<std::unique_ptr<tokenizer::Tokenizer>> open(const TokenizeFlags& flags) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, open_options(flags.model, {}, bar));
  PUNA_TRY(formats::ModelFile file, service::open_file(options));
  return service::open_tokenizer(file);
}

base::Result<int> tokenize(const TokenizeFlags& flags) {
  PUNA_TRY(const auto tokenizer, open(flags));
  PUNA_TRY(const std::string text, text_or_stdin(flags.text));
  const auto ids = tokenizer->encode(text, {!flags.no_special, !flags.no_special});
  if (flags.json) {
    print_out("[{}]\n", fmt::join(ids, ","));
  } else {
    print_out("{}\n", fmt::join(ids, " "));
  }
  return 0;
}

// What stands in the brackets of a JSON array, as puna tokenize --json prints it, without the space
// around it; of another text all but the space.
std::string_view without_brackets(std::string_view text) {
  const auto trimmed = [](std::string_view part) {
    constexpr std::string_view kSpace = " \t\r\n";
    part.remove_prefix(std::min(part.find_first_not_of(kSpace), part.size()));
    return part.substr(0, part.find_last_not_of(kSpace) + 1);
  };
  text = trimmed(text);
  const bool is_array = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  return is_array ? trimmed(text.substr(1, text.size() - 2)) : text;
}

base::Result<int> detokenize(const TokenizeFlags& flags) {
  PUNA_TRY(const auto tokenizer, open(flags));
  PUNA_TRY(std::string list, text_or_stdin(flags.text));
  const std::string_view bare = without_brackets(list);
  // No ids on standard input are those of the empty text, as puna tokenize prints them.
  if (bare.empty() && (flags.text == "-" || list.contains('['))) return 0;
  PUNA_TRY(const std::vector<int32_t> ids, parse_ids("IDS", bare));
  for (int32_t id : ids) {
    if (id >= tokenizer->n_tokens()) {
      return base::fail(base::ErrorCode::kInvalidArgument,
                        fmt::format("Token id {} is outside the vocabulary (0 to {}).", id,
                                    tokenizer->n_tokens() - 1));
    }
  }
  const std::string text = tokenizer->decode(ids, /*special=*/true);
  write_text(stdout, text);
  return 0;
}

}  // namespace

Action add_tokenize(CLI::App& app) {
  auto flags = std::make_shared<TokenizeFlags>();
  add_model_flag(app, flags->model);
  app.add_option("TEXT", flags->text, "The text; - or none reads standard input");
  app.add_flag("--no-special", flags->no_special,
               "Add nothing, and read markers like <|im_start|> as plain text");
  app.add_flag("--json", flags->json, "Print a JSON array");
  return [flags] { return tokenize(*flags); };
}

Action add_detokenize(CLI::App& app) {
  auto flags = std::make_shared<TokenizeFlags>();
  add_model_flag(app, flags->model);
  app.add_option("IDS", flags->text,
                 "Ids separated by commas or spaces, or a JSON array of them; - or none reads "
                 "standard input");
  return [flags] { return detokenize(*flags); };
}

}  // namespace puna::cli
