// puna perplexity: how well a model foretells a text, and how far it is from another (the base).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "models/models.h"
#include "service/perplexity/measure.h"

namespace puna::cli {
namespace {

using service::BaseFile;
using service::Estimate;
using service::PerplexityStatistics;

constexpr uint32_t kDefaultChunk = 512;
constexpr double kQuantiles[] = {0.999, 0.99, 0.95, 0.9, 0.5};

struct PerplexityFlags {
  ModelFlags model;
  std::string text;
  std::optional<uint32_t> n_chunks;
  std::string base, save;
  bool json = false;
};

// The whole content of a file, which may be a pipe, or of standard input for "-".
base::Result<std::string> read_text(const std::string& path) {
  if (path == "-") return text_or_stdin(path);
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  std::string text;
  char part[65536];
  while (file && !std::feof(file.get()) && !std::ferror(file.get()))
    text.append(part, std::fread(part, 1, sizeof part, file.get()));
  if (file && !std::ferror(file.get())) return text;
  return base::fail(base::ErrorCode::kIo,
                    fmt::format("Cannot read {}: {}.", path, std::strerror(errno)));
}

base::Result<std::optional<BaseFile>> open_base(const std::string& path) {
  if (path.empty()) return std::nullopt;
  PUNA_TRY(auto source, io::open_file(path));
  PUNA_TRY(BaseFile file, base::run_until(BaseFile::open(std::move(source)), [] {}));
  return file;
}

// Where the base that is saved goes: none of the files that are read.
base::Result<std::optional<io::OutputPlace>> find_save(const PerplexityFlags& flags,
                                                       const formats::ModelFile& file) {
  if (flags.save.empty()) return std::nullopt;
  std::vector<std::string> inputs = file.paths;
  for (const std::string& path : {flags.text, flags.base}) {
    if (!path.empty()) inputs.push_back(path);
  }
  PUNA_TRY(io::OutputPlace place, io::find_output(flags.save, inputs));
  return place;
}

// The model with a context of one chunk: as --ctx says, else the base's, else the usual one. Sets
// where the base that is saved goes.
base::Result<service::LoadedModel> load(const PerplexityFlags& flags,
                                        const std::optional<BaseFile>& base, ProgressBar& bar,
                                        std::optional<io::OutputPlace>& save) {
  PUNA_TRY(service::OpenOptions options, open_options(flags.model, {}, bar));
  options.engine.all_logits = true;
  PUNA_TRY(formats::ModelFile file, service::open_file(options));
  PUNA_TRY(save, find_save(flags, file));
  if (!options.engine.context) {
    PUNA_TRY(const models::Config config, models::read_config(file));
    options.engine.context = base ? base->header().n_ctx : std::min(kDefaultChunk, config.context);
  }
  PUNA_TRY(service::LoadedModel model, service::open(std::move(file), options));
  bar.clear();
  return model;
}

base::Result<std::vector<int32_t>> tokens_of(const PerplexityFlags& flags,
                                             const service::LoadedModel& model) {
  PUNA_TRY(const std::string text, read_text(flags.text));
  if (text.empty()) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("The text {} is empty.", flags.text));
  }
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model));
  return service::perplexity_tokens(*tokenizer, text);
}

void print_running(uint32_t n_done, uint32_t n_chunks, const PerplexityStatistics& s) {
  print_err("[{}]{:.4f}{}", n_done, s.perplexity().value, n_done < n_chunks ? "," : "\n");
}

void print_text(const PerplexityStatistics& s) {
  const auto line = [](std::string_view what, Estimate e, double unit, const char* suffix) {
    print_out("{:<26} = {:.6f} +/- {:.6f}{}\n", what, e.value * unit, e.error * unit, suffix);
  };
  if (s.has_base()) {
    line("Base PPL", s.base_perplexity(), 1, "");
    line("Mean ln(PPL / base PPL)", s.log_ratio(), 1, "");
    line("Mean KL divergence", s.kl(), 1, "");
    print_out("{:<26} = {:.6f}\n", "Maximum KL divergence", s.kl_quantile(1));
    for (const double share : kQuantiles) {
      const std::string what = share == 0.5 ? "Median" : fmt::format("{:.1f} %", share * 100);
      print_out("{:<26} = {:.6f}\n", what + " KL divergence", s.kl_quantile(share));
    }
    line("Mean change of p", s.change(), 100, " %");
    line("RMS change of p", s.change_rms(), 100, " %");
    line("Same first choice", s.same_first(), 100, " %");
  }
  const Estimate perplexity = s.perplexity();
  print_out("Final estimate: PPL = {:.4f} +/- {:.5f}\n", perplexity.value, perplexity.error);
}

base::Json json_of(Estimate e) {
  base::Json out;
  out.set("value", e.value).set("error", e.error);
  return out;
}

base::Json base_json(const PerplexityStatistics& s) {
  base::Json kl = json_of(s.kl());
  kl.set("max", s.kl_quantile(1)).set("median", s.kl_quantile(0.5));
  for (const double share : kQuantiles)
    if (share != 0.5) kl.set(fmt::format("p{:g}", share * 100), s.kl_quantile(share));
  base::Json out;
  out.set("perplexity", json_of(s.base_perplexity()))
      .set("log_ratio", json_of(s.log_ratio()))
      .set("kl", std::move(kl))
      .set("change", json_of(s.change()))
      .set("change_rms", json_of(s.change_rms()))
      .set("same_first", json_of(s.same_first()));
  return out;
}

void print_statistics(const service::LoadedModel& model, uint32_t n_chunks,
                      const PerplexityStatistics& s) {
  const engine::EngineOptions& options = model.engine->options();
  base::Json out;
  out.set("model", model.name)
      .set("device", model.device_name)
      .set("numerics", name(options.numerics))
      .set("kv_type", name(options.kv_type))
      .set("n_ctx", model.context())
      .set("n_chunks", n_chunks)
      .set("n_counted", s.n())
      .set("perplexity", json_of(s.perplexity()));
  if (s.has_base()) out.set("base", base_json(s));
  print_json(out);
}

base::Result<int> run_perplexity(const PerplexityFlags& flags) {
  if (flags.text.empty() && flags.base.empty()) {
    return base::fail(base::ErrorCode::kUsage,
                      "FILE is needed, a text; only a base of --kl-base has its text with it.");
  }
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(std::optional<BaseFile> base, open_base(flags.base));
  std::optional<io::OutputPlace> save;
  PUNA_TRY(service::LoadedModel model, load(flags, base, bar, save));
  std::vector<int32_t> tokens;
  if (flags.text.empty()) {
    tokens = base->header().tokens;
  } else {
    PUNA_TRY(tokens, tokens_of(flags, model));
  }
  std::unique_ptr<io::ByteSink> sink;
  if (save) {
    PUNA_TRY(sink, create_output(*save));
  }

  base::ThreadPool pool(flags.model.threads.value_or(0));
  service::PerplexityOptions options;
  options.n_ctx = model.context();
  options.n_chunks = flags.n_chunks;
  options.base = base ? &*base : nullptr;
  options.save = sink.get();
  options.cancel = &interrupted();
  uint32_t n_chunks = 0;
  bool line_is_open = false;
  options.on_chunk = [&](uint32_t n_done, uint32_t n_all, const PerplexityStatistics& statistics) {
    n_chunks = n_all;
    line_is_open = n_done < n_all;
    print_running(n_done, n_all, statistics);
  };
  auto measured = base::run_until(
      service::measure_perplexity(model, std::move(tokens), pool, std::move(options)),
      [&] { model.poll(); });
  if (line_is_open) print_err("\n");
  if (!measured) return std::unexpected(std::move(measured.error()));
  const PerplexityStatistics& statistics = *measured;
  if (sink) PUNA_TRY(sink->finish());
  if (flags.json) {
    print_statistics(model, n_chunks, statistics);
  } else {
    print_text(statistics);
  }
  return 0;
}

}  // namespace

Action add_perplexity(CLI::App& app) {
  auto flags = std::make_shared<PerplexityFlags>();
  not_empty(
      app.add_option("FILE", flags->text,
                     "A text; - reads standard input. None with --kl-base takes the base's text"));
  add_model_flag(app, flags->model);
  add_number(app, "--chunks", flags->n_chunks, {1, 1 << 24},
             "Of the chunks of --ctx tokens, the first ones only; default: all whole ones");
  not_empty(
      app.add_option("--kl-base", flags->base,
                     "Compare with the probabilities in this file, written by --kl-save or by "
                     "llama-perplexity --kl-divergence-base"));
  not_empty(
      app.add_option("--kl-save", flags->save,
                     "Write the probabilities of all counted positions: 2 bytes for each token "
                     "of the vocabulary, each position"));
  app.add_flag("--json", flags->json, "Print a JSON object");
  add_engine_flags(app, flags->model, "Tokens of a chunk; 0 = as trained; default: 512");
  return [flags] { return run_perplexity(*flags); };
}

}  // namespace puna::cli
