// puna quantize: writes a model again with other weight types.

#include "formats/quantize.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/log.h"
#include "cli/command.h"
#include "cli/model_flags.h"

namespace puna::cli {
namespace {

using base::ErrorCode;
using base::Result;

struct Flags {
  ModelFlags model;
  std::string output;
  std::string type;
};

constexpr std::string_view kPure = "pure:";

bool is_writable(const quant::Mix& mix) { return quant::info(mix.base).encode != nullptr; }

std::string writable_mixes() {
  std::string out;
  for (const quant::Mix& mix : quant::mixes()) {
    if (is_writable(mix)) out += (out.empty() ? "" : ", ") + std::string(mix.name);
  }
  return out;
}

const quant::Mix* mix_of_type(const quant::TypeInfo* type) {
  for (const quant::Mix& mix : quant::mixes()) {
    if (type && mix.base == type->type) return &mix;
  }
  return nullptr;
}

// A type or mix that GGUF files are called by, whether it can be written here or not.
bool is_known(std::string_view text) {
  constexpr std::string_view kMixes[] = {"iq2_m", "iq3_xs", "iq3_m", "mxfp4_moe"};
  constexpr uint32_t kIds = 64;  // above every id that GGUF has given out
  const std::string wanted = CLI::detail::to_lower(std::string(text));
  if (std::ranges::find(kMixes, wanted) != std::end(kMixes)) return true;
  for (uint32_t id = 0; id < kIds; ++id) {
    const std::string_view name = quant::gguf_type_name(id);
    if (name != "unknown" && CLI::detail::to_lower(std::string(name)) == wanted) return true;
  }
  return false;
}

// "q4_k_m", "pure:q4_k". Errors: kUsage.
Result<formats::QuantizeOptions> parse_type(std::string_view text) {
  const bool pure = text.starts_with(kPure);
  const std::string_view name = pure ? text.substr(kPure.size()) : text;
  const quant::Mix* mix = pure ? mix_of_type(quant::find(name)) : quant::find_mix(name);
  if (mix && is_writable(*mix)) return formats::QuantizeOptions{mix, pure};
  if (mix || is_known(name))
    return base::fail(ErrorCode::kUsage, fmt::format("Writing {} is not supported yet.", name));
  return base::fail(ErrorCode::kUsage,
                    fmt::format("\"{}\" is no type that can be written; there are {}, and "
                                "pure:TYPE for one type throughout.",
                                text, writable_mixes()));
}

// Every part of the input is read while the output is written, under its own name or beside it.
Result<void> check_output(const formats::ModelFile& in, const std::string& output) {
  std::error_code ignored;
  for (const auto& source : in.sources) {
    if (std::filesystem::equivalent(source->name(), output, ignored) ||
        std::filesystem::equivalent(source->name(), output + ".part", ignored)) {
      return base::fail(
          ErrorCode::kUsage,
          fmt::format("Writing \"{}\" would destroy the input \"{}\"; give another name.", output,
                      source->name()));
    }
  }
  if (std::filesystem::is_directory(output, ignored)) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("\"{}\" is a folder; give a file to write.", output));
  }
  return {};
}

// Requantizing adds a second rounding error to the first.
void warn_of_requantizing(const formats::ModelFile& in, std::span<const quant::Type> types) {
  size_t n = 0;
  const formats::Tensor* example = nullptr;
  for (size_t i = 0; i < types.size(); ++i) {
    const formats::Tensor& t = in.tensors[i];
    const bool both =
        quant::info(t.type).block_elements > 1 && quant::info(types[i]).block_elements > 1;
    if (t.type == types[i] || !both) continue;
    if (n++ == 0) example = &t;
  }
  if (n > 0) {
    base::log_warning(
        "{} tensors are quantized already ({} is {}) and lose twice; start from an f32, f16 or "
        "bf16 file for the best result.",
        n, example->name, quant::info(example->type).name);
  }
}

Result<int> run(const Flags& flags) {
  PUNA_TRY(const formats::QuantizeOptions options, parse_type(flags.type));
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions open, open_options(flags.model, {}, bar));
  PUNA_TRY(formats::ModelFile in, service::open_file(open));
  PUNA_TRY(check_output(in, flags.output));
  const std::vector<quant::Type> types = formats::quantized_types(in, options);
  warn_of_requantizing(in, types);
  uint64_t bytes_before = 0, bytes_after = 0, n_weights = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const formats::Tensor& t = in.tensors[i];
    bytes_before += t.bytes;
    bytes_after += t.rows() * quant::row_bytes(types[i], t.columns());
    n_weights += t.rows() * t.columns();
  }
  base::ThreadPool pool(open.engine.n_threads);
  PUNA_TRY(const auto out, io::create_file(flags.output));
  const auto show = [&](const formats::QuantizeProgress& p) {
    bar.update(fmt::format("writing {}", options.mix->name), p.done_bytes, p.total_bytes);
    return !interrupted();
  };
  PUNA_TRY_CONTEXT(base::run_until(formats::quantize(in, options, *out, pool, show), [] {}),
                   fmt::format("While writing {}", flags.output));
  bar.clear();
  fmt::print("{}: {} tensors, {} to {}, {:.2f} bits per weight\n", flags.output, types.size(),
             human_bytes(bytes_before), human_bytes(bytes_after),
             8.0 * static_cast<double>(bytes_after) /
                 static_cast<double>(std::max<uint64_t>(n_weights, 1)));
  return 0;
}

}  // namespace

Action add_quantize(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("IN", flags->model.model, "A name in the store or catalogue, or a .gguf path")
      ->required();
  app.add_option("OUT", flags->output, "The GGUF file to write; replaced when it is complete")
      ->required();
  app.add_option(
         "TYPE", flags->type,
         "What most matrices become, or pure:TYPE for one type throughout: " + writable_mixes())
      ->required();
  add_thread_flags(app, flags->model);
  return [flags] { return run(*flags); };
}

}  // namespace puna::cli
