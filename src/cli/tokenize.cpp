// puna tokenize and puna detokenize.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

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

base::Result<int> detokenize(const TokenizeFlags& flags) {
  PUNA_TRY(const auto tokenizer, open(flags));
  PUNA_TRY(const std::string list, text_or_stdin(flags.text));
  PUNA_TRY(const std::vector<int32_t> ids, parse_ids("IDS", list));
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
                 "Ids separated by commas or spaces; - or none reads standard input");
  return [flags] { return detokenize(*flags); };
}

}  // namespace puna::cli
