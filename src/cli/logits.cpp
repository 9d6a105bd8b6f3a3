// puna logits: the logits of every position of a prompt, for comparing engines.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/prompt_media.h"
#include "cli/text_file.h"
#include "service/embed.h"

namespace puna::cli {
namespace {

using base::Result;

constexpr Defaults kExact = {kernels::Numerics::kExact, kernels::KvType::kF32};

struct LogitsFlags {
  ModelFlags model;
  std::string tokens, prompt_file;
  std::string output;
  PromptMedia media;
};

// The prompt that the flags describe, of a vocabulary in `file` where it is a text.
Result<engine::Prompt> prompt_of(const LogitsFlags& flags, formats::ModelFile& file,
                                 const service::OpenOptions& options) {
  if (flags.prompt_file.empty()) return parse_ids("--tokens", flags.tokens);
  PUNA_TRY(const std::string text, read_text_file("prompt", flags.prompt_file));
  formats::ModelFile of_vocabulary;
  of_vocabulary.name = file.name;
  of_vocabulary.vocabulary = file.vocabulary;
  of_vocabulary.vocabulary_error = file.vocabulary_error;
  PUNA_TRY_CONTEXT(const auto tokenizer, service::open_tokenizer(of_vocabulary),
                   "While reading the prompt; token ids need no vocabulary");
  if (!flags.media.any()) return tokenizer->encode(text);
  PUNA_TRY(const MediaFiles files, read_media(flags.media));
  PUNA_TRY(const service::UnmarkedText unmarked, place_media(text, files.size()));
  PUNA_TRY(const auto encoder, service::find_encoder(options.model, file, flags.media.wish()));
  if (!encoder) return std::unexpected(no_encoder(flags.model.model));
  service::MmprojOptions mmproj = mmproj_of(flags.media);
  mmproj.path = encoder->path;
  PUNA_TRY(std::vector<service::PlacedMedia> placed,
           encode_media(files, options, std::move(mmproj)));
  for (size_t i = 0; i < placed.size(); ++i) placed[i].at = unmarked.places[i];
  return service::media_prompt(*tokenizer, unmarked.text, placed, /*ends=*/true);
}

Result<int> run_logits(const LogitsFlags& flags) {
  catch_interrupts();
  if (flags.tokens.empty() == flags.prompt_file.empty()) {
    return base::fail(base::ErrorCode::kUsage,
                      "The prompt is --tokens or --prompt-file; one of them must be given.");
  }
  if (flags.media.any() && flags.prompt_file.empty()) {
    return base::fail(base::ErrorCode::kUsage,
                      "--image and --audio stand at marks of a text; give --prompt-file.");
  }
  ProgressBar bar;
  PUNA_TRY(service::OpenOptions options, open_options(flags.model, kExact, bar));
  PUNA_TRY(formats::ModelFile file, service::open_file(options));
  PUNA_TRY(const engine::Prompt prompt, prompt_of(flags, file, options));
  options.engine.all_logits = true;
  options.engine.media = flags.media.any();
  for (const engine::Prompt::Span& span : prompt.spans()) {
    if (span.media->both_ways)
      options.engine.media_rows = std::max(options.engine.media_rows, span.media->n_rows);
  }
  options.engine.wanted_context = static_cast<uint32_t>(prompt.tokens().size());
  PUNA_TRY(const io::OutputPlace place, io::find_output(flags.output, file.paths));
  PUNA_TRY(service::LoadedModel model, service::open(std::move(file), options));
  PUNA_TRY(const auto out, create_output(place));
  bar.clear();
  const uint64_t vocab = model.engine->config().vocab;
  PUNA_TRY(const std::vector<float> logits,
           base::run_until(service::logits(model, prompt, &interrupted()), [&] { model.poll(); }));
  const uint64_t shape[] = {prompt.tokens().size(), vocab};
  PUNA_TRY(write_npy(*out, logits, shape));
  return 0;
}

}  // namespace

Action add_logits(CLI::App& app) {
  auto flags = std::make_shared<LogitsFlags>();
  add_model_flag(app, flags->model);
  not_empty(app.add_option("--tokens", flags->tokens,
                           "Token ids, separated by commas; nothing is added"));
  not_empty(app.add_option("--prompt-file", flags->prompt_file,
                           fmt::format("A file with the prompt, taken as it is; {} stands where "
                                       "a picture or sound goes",
                                       service::kMediaMark)));
  add_media_flags(app, flags->media);
  not_empty(app.add_option("--output", flags->output,
                           "Where to write float32 [n_tokens, n_vocab] as .npy")
                ->required());
  add_engine_flags(app, flags->model, kAboutContextOfTokens);
  return [flags, &app]() -> Result<int> {
    PUNA_TRY(check_media(app, flags->media, /*more_may_come=*/false));
    return run_logits(*flags);
  };
}

}  // namespace puna::cli
