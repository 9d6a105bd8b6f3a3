// puna logits: the logits of every position of a prompt, for comparing engines.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "service/embed.h"

namespace puna::cli {
namespace {

struct Flags {
  ModelFlags model;
  std::string tokens;
  std::string output;
};

base::Result<int> run(const Flags& flags) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const std::vector<int32_t> ids, parse_ids("--tokens", flags.tokens));
  PUNA_TRY(service::OpenOptions options,
           open_options(flags.model, {kernels::Numerics::kExact, kernels::KvType::kF32}, bar));
  options.engine.all_logits = true;
  options.engine.wanted_context = static_cast<uint32_t>(ids.size());
  PUNA_TRY(formats::ModelFile file, service::open_file(options));
  PUNA_TRY(const io::OutputPlace place, io::find_output(flags.output, file.paths));
  PUNA_TRY(service::LoadedModel model, service::open(std::move(file), options));
  PUNA_TRY(const auto out, create_output(place));
  bar.clear();
  const uint64_t vocab = model.engine->config().vocab;
  PUNA_TRY(const std::vector<float> logits,
           base::run_until(service::logits(model, ids), [&] { model.poll(); }));
  const uint64_t shape[] = {ids.size(), vocab};
  PUNA_TRY(write_npy(*out, logits, shape));
  return 0;
}

}  // namespace

Action add_logits(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  not_empty(
      app.add_option("--tokens", flags->tokens, "Token ids, separated by commas; nothing is added")
          ->required());
  not_empty(app.add_option("--output", flags->output,
                           "Where to write float32 [n_tokens, n_vocab] as .npy")
                ->required());
  add_engine_flags(app, flags->model, kAboutContextOfTokens);
  return [flags] { return run(*flags); };
}

}  // namespace puna::cli
