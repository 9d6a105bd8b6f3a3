// Options that commands share: which model, which device, which numerics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal.h"
#include "service/open.h"

namespace CLI {
class App;
}

namespace puna::cli {

struct ModelFlags {
  std::string model;
  std::string device = "auto";
  std::string gpu_features = "all";
  std::optional<uint32_t> gpu_memory_mib;
  std::string cpu_variant;
  std::string kv_type;   // as given; empty = the command's default
  std::string numerics;  // as given; empty = the command's default
  std::optional<uint32_t> context;
  std::optional<int> threads;
  std::optional<uint32_t> gpu_layers;       // none = as many as fit
  std::optional<uint32_t> cpu_experts = 0;  // as EngineOptions has it
  std::vector<double> gpu_shares;           // as MoreGpus has them
  bool no_map = false;
  bool lock_memory = false;
  bool verbose = false;
};

// What the help says of --ctx, unless a command has its own.
constexpr const char* kAboutContext = "Context in tokens; 0 = as trained; default: up to 8192";
// Where all tokens are given, the default holds them.
constexpr const char* kAboutContextOfTokens =
    "Context in tokens; 0 = as trained; default: up to 8192, or what the tokens need";

// --threads, --verbose
void add_thread_flags(CLI::App& app, ModelFlags& flags);
// The above and --device, --gpu-features, --cpu-variant.
void add_device_flags(CLI::App& app, ModelFlags& flags);
// "auto", "all" or a number, as EngineOptions::cpu_experts. Errors: kUsage.
base::Result<std::optional<uint32_t>> parse_cpu_experts(std::string_view option,
                                                        std::string_view text);
// "3,1", or "3/1": numbers of which not all are 0. Errors: kUsage.
base::Result<std::vector<double>> parse_shares(std::string_view option, std::string_view text);
constexpr const char* kAboutShares =
    "Of the layers on GPUs, what share each one of --device takes, as 3,1; default: each takes "
    "what it has room for, before the next one";
constexpr const char* kAboutDevice =
    "auto, gpu, gpu:N, several as gpu:0,gpu:1, or cpu; auto and gpu take further cards for what "
    "one has no room for";
// What the help says of it.
constexpr const char* kAboutCpuExperts =
    "Of layers on the GPU, of how many, the first with experts, these are computed on the CPU; all "
    "= of all, auto = of as few as memory wants";
// The above and --kv-type, --numerics, --ctx.
void add_engine_flags(CLI::App& app, ModelFlags& flags, const char* about_context = kAboutContext);
// MODEL as an argument, required.
void add_model_argument(CLI::App& app, ModelFlags& flags);
// --model
void add_model_flag(CLI::App& app, ModelFlags& flags, bool required = true);

// Defaults of commands: run and bench take fast (KV f16), logits exact (KV f32).
struct Defaults {
  kernels::Numerics numerics = kernels::Numerics::kFast;
  kernels::KvType kv_type = kernels::KvType::kF16;
};
// What service::open needs, with progress bars on a terminal and Ctrl-C as cancel. Errors: kUsage.
base::Result<service::OpenOptions> open_options(const ModelFlags& flags, const Defaults& defaults,
                                                ProgressBar& bar);

// Of what goes over the network: a progress bar on a terminal and Ctrl-C as cancel.
store::PullOptions transfer_options(ProgressBar& bar);

// "1,2,3" or "1 2 3" as ids. Errors: kUsage naming the option and the piece that is no number.
base::Result<std::vector<int32_t>> parse_ids(std::string_view option, std::string_view text);
// `text`, or all of standard input, bytes unchanged, where that is "-". Errors: kCancelled.
base::Result<std::string> text_or_stdin(const std::string& text);

std::string_view name(kernels::Numerics numerics);

}  // namespace puna::cli
