// puna embed: the embedding of a token list or of texts.

#include "service/embed.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "cli/output_file.h"

namespace puna::cli {
namespace {

using models::Pooling;

constexpr Pooling kPoolings[] = {Pooling::kNone, Pooling::kMean, Pooling::kCls, Pooling::kLast,
                                 Pooling::kRank};

// Short texts are evaluated so many at once.
constexpr uint32_t kTextsOfStep = 64;

struct Flags {
  ModelFlags model;
  std::string tokens;
  std::vector<std::string> texts;
  std::string output;
  std::string pooling;
  bool normalize = false;
};

// Scales every row of `width` values to length 1; a row of zeros stays.
void normalize(std::span<float> values, size_t width) {
  for (size_t first = 0; first < values.size(); first += width) {
    const auto row = values.subspan(first, width);
    double squares = 0;
    for (const float v : row) squares += double{v} * v;
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 1;
    for (float& v : row) v = static_cast<float>(v * scale);
  }
}

// The token lists that the command line gives. Of texts: takes the vocabulary of the file, which
// nothing else needs then.
base::Result<std::vector<std::vector<int32_t>>> token_lists(const Flags& flags,
                                                            formats::ModelFile& file) {
  std::vector<std::vector<int32_t>> lists;
  if (!flags.tokens.empty()) {
    PUNA_TRY(lists.emplace_back(), parse_ids("--tokens", flags.tokens));
    return lists;
  }
  PUNA_TRY(const auto tokenizer, service::open_tokenizer(file));
  for (const std::string& text : flags.texts) lists.push_back(tokenizer->encode(text));
  return lists;
}

base::Result<void> check(const Flags& flags) {
  const auto usage = [](const char* what) { return base::fail(base::ErrorCode::kUsage, what); };
  if (flags.tokens.empty() == flags.texts.empty())
    return usage("Either --tokens or TEXT is needed, and not both.");
  if (flags.pooling == "none" && flags.texts.size() > 1)
    return usage("--pooling none gives a row for each token; it takes one text at a time.");
  return {};
}

base::Result<int> run(const Flags& flags) {
  PUNA_TRY(check(flags));
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(service::OpenOptions options,
           open_options(flags.model, {kernels::Numerics::kExact, kernels::KvType::kF32}, bar));
  options.engine.embeddings = true;
  options.engine.n_sequences = kTextsOfStep;
  for (const Pooling p : kPoolings) {
    if (name(p) == flags.pooling) options.engine.pooling = p;
  }
  PUNA_TRY(formats::ModelFile file, service::open_file(options));
  PUNA_TRY(const io::OutputPlace place, io::find_output(flags.output, file.paths));
  PUNA_TRY(const auto lists, token_lists(flags, file));
  for (const std::vector<int32_t>& tokens : lists) {
    options.engine.wanted_context =
        std::max(options.engine.wanted_context, static_cast<uint32_t>(tokens.size()));
  }
  PUNA_TRY(service::LoadedModel model, service::open(std::move(file), options));
  PUNA_TRY(const auto out, create_output(place));
  bar.clear();
  PUNA_TRY(const auto parts, base::run_until(service::embed(model, lists), [&] { model.poll(); }));
  std::vector<float> values;
  for (const std::vector<float>& part : parts)
    values.insert(values.end(), part.begin(), part.end());
  const engine::Engine& engine = *model.engine;
  const uint64_t width = engine.n_out();
  if (flags.normalize) normalize(values, width);
  std::vector<uint64_t> shape = {values.size() / width, width};
  if (!flags.tokens.empty() && engine.pooling() != Pooling::kNone) shape = {width};
  PUNA_TRY(write_npy(*out, values, shape));
  return 0;
}

}  // namespace

Action add_embed(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  not_empty(app.add_option("--tokens", flags->tokens,
                           "Token ids, separated by commas; nothing is added"));
  app.add_option("TEXT", flags->texts, "Texts, each with the tokens the model puts around one");
  not_empty(
      app.add_option(
             "--output", flags->output,
             "Where to write float32 as .npy: [n_embd] of --tokens, [n_texts, n_embd] of texts, "
             "[n_tokens, n_embd] with --pooling none")
          ->required());
  app.add_option("--pooling", flags->pooling,
                 "none, mean, cls, last or rank (default: as the model says)")
      ->check(CLI::IsMember({"none", "mean", "cls", "last", "rank"}));
  app.add_flag("--normalize", flags->normalize, "Scale embeddings to length 1");
  add_engine_flags(app, flags->model, kAboutContextOfTokens);
  return [flags] { return run(*flags); };
}

}  // namespace puna::cli
