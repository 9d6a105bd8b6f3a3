#include "cli/write_model.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "base/thread_pool.h"
#include "cli/output.h"

namespace puna::cli {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::string_view kPure = "pure:";

bool is_writable(const quant::Mix& mix) { return quant::info(mix.base).encode != nullptr; }

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
    const bool same = t.type == quant::Type::kQ4F16_1 && types[i] == quant::Type::kQ4_0;
    if (t.type == types[i] || same || !both) continue;
    if (n++ == 0) example = &t;
  }
  if (n > 0) {
    base::log_warning(
        "{} tensors are quantized already ({} is {}) and lose twice; start from an f32, f16 or "
        "bf16 file for the best result.",
        n, example->name, quant::info(example->type).name);
  }
}

// What the file will take, against what there is: a disk that fills up costs the whole run.
Result<void> check_space(const std::string& output, uint64_t bytes) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::absolute(output, failed).parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder, failed);
  if (failed || space.available >= bytes) return {};
  return base::fail(ErrorCode::kIo,
                    fmt::format("Writing \"{}\" takes {}, but {} are free there.", output,
                                human_bytes(bytes), human_bytes(space.available)));
}

}  // namespace

std::string writable_mixes() {
  std::string out;
  for (const quant::Mix& mix : quant::mixes()) {
    if (is_writable(mix)) out += (out.empty() ? "" : ", ") + std::string(mix.name);
  }
  return out;
}

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

Result<void> write_model(const ModelFlags& model, const formats::QuantizeOptions& options,
                         const std::string& output) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions open, open_options(model, {}, bar));
  PUNA_TRY(formats::ModelFile in, service::open_file(open));
  PUNA_TRY(check_output(in, output));
  const std::vector<quant::Type> types = formats::quantized_types(in, options);
  warn_of_requantizing(in, types);
  uint64_t bytes_before = 0, bytes_after = 0, n_weights = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const formats::Tensor& t = in.tensors[i];
    bytes_before += t.bytes;
    bytes_after += t.rows() * quant::row_bytes(types[i], t.columns());
    n_weights += t.rows() * t.columns();
  }
  PUNA_TRY(check_space(output, bytes_after));
  base::ThreadPool pool(open.engine.n_threads);
  PUNA_TRY(const auto out, io::create_file(output));
  const auto show = [&](const formats::QuantizeProgress& p) {
    bar.update(fmt::format("writing {}", options.mix ? options.mix->name : "gguf"), p.done_bytes,
               p.total_bytes);
    return !interrupted();
  };
  PUNA_TRY_CONTEXT(base::run_until(formats::quantize(in, options, *out, pool, show), [] {}),
                   fmt::format("While writing {}", output));
  bar.clear();
  print_out("{}: {} tensors, {} to {}, {:.2f} bits per weight\n", base::printable(output),
            types.size(), human_bytes(bytes_before), human_bytes(bytes_after),
            8.0 * static_cast<double>(bytes_after) /
                static_cast<double>(std::max<uint64_t>(n_weights, 1)));
  return {};
}

}  // namespace puna::cli
