// puna embed: the embedding of a token list, of texts or of a picture or sound.

#include "service/embed.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/embed_media.h"
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

struct EmbedFlags {
  ModelFlags model;
  EmbedMedia media;
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
base::Result<std::vector<std::vector<int32_t>>> token_lists(const EmbedFlags& flags,
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

// What is for texts has no meaning for an encoder.
base::Result<void> check_for_encoder(const EmbedFlags& flags) {
  const auto usage = [](std::string what) {
    return base::fail(base::ErrorCode::kUsage, std::move(what));
  };
  const PromptMedia& files = flags.media.files;
  const bool of_pixels = !flags.media.pixels.empty();
  if (files.images.size() + files.sounds.size() + (of_pixels ? 1 : 0) != 1)
    return usage("--mmproj needs one of --image, --audio and --pixels.");
  if (of_pixels && files.image_max_tokens)
    return usage("--image-max-tokens is of pictures; give --image.");
  struct {
    bool given;
    const char* name;
  } const for_texts[] = {{!flags.tokens.empty(), "--tokens"},
                         {!flags.texts.empty(), "TEXT"},
                         {!flags.pooling.empty(), "--pooling"},
                         {flags.model.context.has_value(), "--ctx"},
                         {!flags.model.kv_type.empty(), "--kv-type"},
                         {flags.model.gpu_layers.has_value(), "--gpu-layers"},
                         {flags.model.cpu_experts != 0u, "--cpu-experts"},
                         {flags.model.lock_memory, "--mlock"}};
  for (const auto& option : for_texts) {
    if (option.given)
      return usage(fmt::format("{} is for texts; with --mmproj it has no meaning.", option.name));
  }
  return {};
}

base::Result<void> check(const EmbedFlags& flags) {
  const auto usage = [](const char* what) { return base::fail(base::ErrorCode::kUsage, what); };
  if (flags.model.model.empty() == flags.media.files.mmproj.empty())
    return usage("Either --model or --mmproj is needed, and not both.");
  if (!flags.media.files.mmproj.empty()) return check_for_encoder(flags);
  if (!flags.media.pixels.empty()) return usage("--pixels is for an encoder; --mmproj names it.");
  if (flags.media.files.any())
    return usage("--image and --audio are for an encoder; --mmproj names it.");
  if (flags.tokens.empty() == flags.texts.empty())
    return usage("Either --tokens or TEXT is needed, and not both.");
  if (flags.pooling == "none" && flags.texts.size() > 1)
    return usage("--pooling none gives a row for each token; it takes one text at a time.");
  return {};
}

base::Result<int> run_embed(const CLI::App& app, EmbedFlags& flags) {
  if (flags.media.pixels.empty())
    PUNA_TRY(check_media(app, flags.media.files, /*more_may_come=*/false));
  PUNA_TRY(check(flags));
  if (!flags.media.files.mmproj.empty()) return embed_media(flags.model, flags.media, flags.output);
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
  PUNA_TRY(const auto parts,
           base::run_until(service::embed(model, lists, &interrupted()), [&] { model.poll(); }));
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
  auto flags = std::make_shared<EmbedFlags>();
  add_model_flag(app, flags->model, /*required=*/false);
  add_media_flags(app, flags->media.files);
  not_empty(app.add_option("--pixels", flags->media.pixels,
                           "What the encoder reads, as .npy of float32: normalised pixels [tiles, "
                           "height, width, 3] or a sound [mel bins, frames]"));
  not_empty(app.add_option("--tokens", flags->tokens,
                           "Token ids, separated by commas; nothing is added"));
  app.add_option("TEXT", flags->texts, "Texts, each with the tokens the model puts around one");
  not_empty(
      app.add_option(
             "--output", flags->output,
             "Where to write float32 as .npy: [n_embd] of --tokens, [n_texts, n_embd] of texts, "
             "[n_tokens, n_embd] with --pooling none, [n_rows, n_embd] with --mmproj")
          ->required());
  app.add_option("--pooling", flags->pooling,
                 "none, mean, cls, last or rank (default: as the model says)")
      ->check(CLI::IsMember({"none", "mean", "cls", "last", "rank"}));
  app.add_flag("--normalize", flags->normalize, "Scale embeddings to length 1");
  add_engine_flags(app, flags->model, kAboutContextOfTokens);
  return [flags, &app] { return run_embed(app, *flags); };
}

}  // namespace puna::cli
