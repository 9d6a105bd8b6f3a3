// What is done where the memory of a GPU does not hold everything, what is looked at when a model
// is loaded, and what is remembered of texts with recurrent states.
#include <fmt/format.h>

#include "cli/serve/table.h"

namespace puna::cli::serve {
namespace {

using base::Result;

constexpr uint32_t kMostStates = 4096;
constexpr uint32_t kMostInterval = 1u << 30;

// llama-server takes a number for each device; one has the whole model here.
Result<void> read_spare(ServeFlags& flags, std::string_view option, std::string_view value) {
  constexpr uint64_t kMostMib = uint64_t{1} << 24;
  if (value.contains(',')) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("{} is \"{}\", but the model is on one GPU: one number of MiB is "
                                  "expected.",
                                  option, value));
  }
  PUNA_TRY(const uint64_t mib, parse_number<uint64_t>(option, value, {0, kMostMib}));
  flags.fit.spare_bytes = mib << 20;
  return {};
}

std::vector<Flag> memory_rows() {
  std::vector<Flag> out;
  out.push_back(with(
      choice("--fit", {"on", "off"},
             "Where the GPU has no room for all layers, the first ones go to the "
             "CPU: on, the default, or off, so that it is an error",
             [](ServeFlags& flags, std::string_view value) { flags.fit.layers = value == "on"; }),
      "LLAMA_ARG_FIT", "-fit"));
  out.push_back(with(value("--fit-target", "MIB",
                           "MiB of the GPU's memory that are left free; default: 0", read_spare),
                     "LLAMA_ARG_FIT_TARGET", "-fitt"));
  out.push_back(
      with(number<uint32_t>("--fit-ctx", {1, kCounts.highest},
                            "Before layers go to the CPU, a context that no flag asks for becomes "
                            "shorter, down to so many tokens; default: it stays",
                            [](ServeFlags& flags, uint32_t n) { flags.fit.least_context = n; }),
           "LLAMA_ARG_FIT_CTX", "-fitc"));
  out.push_back(with(on_off("--kv-offload,!--no-kv-offload",
                            "The cache of a layer lies where the layer is; --no-kv-offload wants "
                            "all of them on the CPU",
                            [](ServeFlags& flags, bool on) { flags.kv_on_cpu = !on; }),
                     "LLAMA_ARG_KV_OFFLOAD", "-kvo,-nkvo=--no-kv-offload"));
  out.push_back(with(on_off("--context-shift,!--no-context-shift",
                            "Where the context of a text is full, the older half of it goes, and "
                            "it goes on; else, the default, it ends",
                            [](ServeFlags& flags, bool on) { flags.shifts = on; }),
                     "LLAMA_ARG_CONTEXT_SHIFT"));
  out.push_back(
      number<int64_t>("--keep", {-1, UINT32_MAX},
                      "Of --context-shift: tokens at the beginning of a text that stay, where a "
                      "request says nothing of it; -1 = the prompt; default: 0",
                      [](ServeFlags& flags, int64_t n) { flags.n_keep = n; }));
  out.push_back(on_off("--check-tensors",
                       "Reads all weights first, and refuses a model with one that is NaN or "
                       "infinite",
                       [](ServeFlags& flags, bool on) { flags.check_weights = on; }));
  out.push_back(with(number<uint32_t>("--ctx-checkpoints", {0, kMostStates},
                                      "Copies of recurrent states that are kept, times the texts "
                                      "that are written at once; default: 4",
                                      [](ServeFlags& flags, uint32_t n) { flags.states_each = n; }),
                     "LLAMA_ARG_CTX_CHECKPOINTS", "-ctxcp,--swa-checkpoints"));
  out.push_back(
      with(number<uint32_t>("--checkpoint-min-step", {0, kMostInterval},
                            "Tokens of a long prompt between two of them, in whole pages of "
                            "the cache; default: 512",
                            [](ServeFlags& flags, uint32_t n) { flags.state_interval = n; }),
           "LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT", "-cms"));
  return out;
}

}  // namespace

std::span<const Flag> memory_flags() {
  static const std::vector<Flag> kRows = memory_rows();
  return kRows;
}

}  // namespace puna::cli::serve
