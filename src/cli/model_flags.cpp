#include "cli/model_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/log.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "gpu/devices.h"
#include "kernels/matmul/cpu_matrix.h"

namespace puna::cli {

using base::ErrorCode;
using base::Result;

void add_thread_flags(CLI::App& app, ModelFlags& flags) {
  add_number(app, "--threads", flags.threads, {1, 1024},
             "Threads to compute with on the CPU; default: one per physical core");
  app.add_flag("--verbose", flags.verbose, "Log what happens on stderr");
}

void add_device_flags(CLI::App& app, ModelFlags& flags) {
  not_empty(app.add_option("--device", flags.device, kAboutDevice)->capture_default_str());
  add_thread_flags(app, flags);
  app.add_option("--gpu-features", flags.gpu_features,
                 "all, or baseline to hide every optional GPU feature")
      ->check(CLI::IsMember({"all", "baseline"}))
      ->capture_default_str();
  add_number(app, "--gpu-memory", flags.gpu_memory_mib, kCounts,
             "Use the GPU as if it had no more memory than so many MiB; default: as it has");
  not_empty(app.add_option("--cpu-variant", flags.cpu_variant,
                           "Force a variant of the CPU kernels (see puna devices)"));
}

Result<std::optional<uint32_t>> parse_cpu_experts(std::string_view option, std::string_view text) {
  if (text == "auto") return std::optional<uint32_t>();
  if (text == "all") return engine::kAllLayers;
  constexpr Range<uint32_t> kNumbers{0, engine::kAllLayers - 1};
  PUNA_TRY_CONTEXT(const uint32_t n, parse_number<uint32_t>(option, text, kNumbers),
                   "auto, all or a number may be given");
  return n;
}

Result<std::vector<double>> parse_shares(std::string_view option, std::string_view text) {
  constexpr Range<double> kShares{0, 1e6};
  std::vector<double> out;
  for (size_t begin = 0; begin <= text.size();) {
    // llama.cpp's users write either.
    const size_t end = std::min(text.find_first_of(",/", begin), text.size());
    PUNA_TRY_CONTEXT(const double share,
                     parse_number(option, text.substr(begin, end - begin), kShares),
                     "numbers separated by commas may be given, one for each GPU");
    out.push_back(share);
    begin = end + 1;
  }
  if (std::ranges::all_of(out, [](double share) { return share == 0; })) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("{} is \"{}\", by which no GPU has a layer.", option, text));
  }
  return out;
}

void add_engine_flags(CLI::App& app, ModelFlags& flags, const char* about_context) {
  add_device_flags(app, flags);
  app.add_option("--kv-type", flags.kv_type, "Type of the KV cache: f32, f16, q8_0 or q4_0")
      ->transform(CLI::IsMember({"f32", "f16", "q8_0", "q4_0"}, CLI::ignore_case));
  app.add_option("--numerics", flags.numerics,
                 "exact (f32 activations) or fast (int8 activations allowed)")
      ->check(CLI::IsMember({"exact", "fast"}));
  add_number(app, "--ctx", flags.context, kCounts, about_context);
  OptionTexts layers = number_texts(
      "--gpu-layers",
      "Of the model's layers, how many go to the GPU, from the last one on; the others are "
      "computed on the CPU. auto = as many as fit",
      kCounts);
  layers.given_default = "auto";
  add_value(app, layers, [&flags](std::string_view option, std::string_view text) -> Result<void> {
    flags.gpu_layers.reset();
    if (text == "auto") return {};
    PUNA_TRY_CONTEXT(flags.gpu_layers, parse_number(option, text, kCounts),
                     "auto or a number may be given");
    return {};
  });
  OptionTexts experts = number_texts("--cpu-experts", kAboutCpuExperts, kCounts);
  experts.given_default = "0";
  add_value(app, experts, [&flags](std::string_view option, std::string_view text) -> Result<void> {
    PUNA_TRY(flags.cpu_experts, parse_cpu_experts(option, text));
    return {};
  });
  const OptionTexts shares = {"--tensor-split", "SHARES", kAboutShares, ""};
  add_value(app, shares, [&flags](std::string_view option, std::string_view text) -> Result<void> {
    PUNA_TRY(flags.gpu_shares, parse_shares(option, text));
    return {};
  });
  app.add_flag("--no-mmap", flags.no_map,
               "Read all weights into memory, instead of using tables that are only looked up in "
               "where the file is mapped (CPU)");
  app.add_flag("--mlock", flags.lock_memory,
               "Keep the weights in memory: they are not swapped out (CPU)");
}

namespace {

constexpr const char* kModelHelp = "A name in the store or catalogue, a .gguf path or a folder";

}  // namespace

void add_model_argument(CLI::App& app, ModelFlags& flags) {
  not_empty(app.add_option("MODEL", flags.model, kModelHelp)->required());
}

void add_model_flag(CLI::App& app, ModelFlags& flags, bool required) {
  not_empty(app.add_option("--model", flags.model, kModelHelp)->required(required));
}

Result<service::OpenOptions> open_options(const ModelFlags& flags, const Defaults& defaults,
                                          ProgressBar& bar) {
  if (flags.verbose) {
    base::set_log_sink(base::log_to_stderr, base::LogLevel::kInfo);
  }
  PUNA_TRY(as_usage(gpu::check_device_name(flags.device)));
  if (!flags.cpu_variant.empty()) {
    PUNA_TRY(as_usage(kernels::set_cpu_variant(flags.cpu_variant)));
  }
  service::OpenOptions o;
  o.model = flags.model;
  o.device = flags.device;
  o.gpu_baseline = flags.gpu_features == "baseline";
  if (flags.gpu_memory_mib) o.gpu_memory_bytes = uint64_t{*flags.gpu_memory_mib} << 20;
  o.engine.context = flags.context;
  o.engine.n_threads = flags.threads.value_or(0);
  o.engine.gpu_layers = flags.gpu_layers;
  o.engine.cpu_experts = flags.cpu_experts;
  o.engine.lock_memory = flags.lock_memory;
  o.engine.more_gpus.shares = flags.gpu_shares;
  o.map = !flags.no_map;
  o.engine.numerics = defaults.numerics;
  if (!flags.numerics.empty()) {
    o.engine.numerics =
        flags.numerics == "exact" ? kernels::Numerics::kExact : kernels::Numerics::kFast;
  }
  o.engine.kv_type = kernels::kv_type_named(flags.kv_type).value_or(defaults.kv_type);
  o.engine.hooks.cancel = &interrupted();
  o.engine.hooks.on_progress = [&bar](uint64_t done, uint64_t total) {
    bar.update("loading", done, total);
  };
  o.pull_options = transfer_options(bar);
  return o;
}

store::PullOptions transfer_options(ProgressBar& bar) {
  store::PullOptions options;
  options.cancel = &interrupted();
  options.progress = [&bar](const store::Progress& p) {
    bar.update(p.source.empty() ? std::string(p.phase) : fmt::format("{} ({})", p.phase, p.source),
               p.done_bytes, p.total_bytes);
  };
  return options;
}

Result<std::vector<int32_t>> parse_ids(std::string_view option, std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto skip_space = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  };
  std::vector<int32_t> ids;
  skip_space();
  if (text.empty())
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("{}: No token ids are given; they are numbers separated by commas.", option));
  while (!text.empty()) {
    int32_t id = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    const auto n = static_cast<size_t>(next - text.data());
    const bool ends = n == text.size() || text[n] == ',' || kSpace.contains(text[n]);
    if (error != std::errc() || id < 0 || !ends) {
      return base::fail(
          ErrorCode::kUsage,
          fmt::format("{}: \"{}\" is no token id; ids are numbers separated by commas.", option,
                      text.substr(0, std::min<size_t>(text.find_first_of(", \t\r\n"), 20))));
    }
    ids.push_back(id);
    text.remove_prefix(n);
    skip_space();
    if (!text.starts_with(',')) continue;
    text.remove_prefix(1);
    skip_space();
    if (text.empty()) {
      return base::fail(ErrorCode::kUsage,
                        fmt::format("{}: A token id is missing after the last comma.", option));
    }
  }
  return ids;
}

Result<std::string> text_or_stdin(const std::string& text) {
  if (text != "-") return text;
  std::string all;
  char part[65536];
  while (wait_for_input()) {
    const ssize_t n = read(STDIN_FILENO, part, sizeof(part));
    if (n < 0)
      return base::fail(ErrorCode::kIo,
                        fmt::format("Cannot read stdin: {}.", std::strerror(errno)));
    if (n == 0) return all;
    all.append(part, static_cast<size_t>(n));
  }
  return base::fail(ErrorCode::kCancelled, "Reading was interrupted.");
}

std::string_view name(kernels::Numerics numerics) {
  return numerics == kernels::Numerics::kExact ? "exact" : "fast";
}

}  // namespace puna::cli
