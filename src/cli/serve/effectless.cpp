// Flags of llama-server that say what is always so here, or what is never needed here.
#include <fmt/format.h>

#include <algorithm>

#include "cli/serve/table.h"

namespace puna::cli::serve {
namespace {

using base::ErrorCode;
using base::Result;

enum class Takes : uint8_t { kNothing, kValue };

struct Row {
  const char* names;  // as Flag::names; without a negation, a switch has none
  Takes takes;
  const char* llama = nullptr;
  const char* also = "";
  // The values that are taken, separated by commas ("on" and "off" of a switch); null: any.
  const char* only = nullptr;
  // The value whose user should know that it changes nothing.
  const char* contrary = "";
};

constexpr Row kRows[] = {
    // Always so.
    {"--flash-attn", Takes::kValue, "LLAMA_ARG_FLASH_ATTN", "-fa", "on,off,auto", "off"},
    {"--cont-batching,!--no-cont-batching", Takes::kNothing, "LLAMA_ARG_CONT_BATCHING",
     "-cb,-nocb=--no-cont-batching", nullptr, "off"},
    {"--jinja,!--no-jinja", Takes::kNothing, "LLAMA_ARG_JINJA", "", nullptr, "off"},
    {"--cache-reuse", Takes::kValue, "LLAMA_ARG_CACHE_REUSE"},
    {"--cache-idle-slots,!--no-cache-idle-slots", Takes::kNothing, "LLAMA_ARG_CACHE_IDLE_SLOTS"},
    // Chosen by Puna itself.
    {"--batch-size", Takes::kValue, "LLAMA_ARG_BATCH", "-b"},
    {"--ubatch-size", Takes::kValue, "LLAMA_ARG_UBATCH", "-ub"},
    {"--threads-batch", Takes::kValue, nullptr, "-tb"},
    {"--swa-full", Takes::kNothing, "LLAMA_ARG_SWA_FULL"},
    {"--slot-prompt-similarity", Takes::kValue, nullptr, "-sps"},
    {"--backend-sampling", Takes::kNothing, "LLAMA_ARG_BACKEND_SAMPLING", "-bs"},
    {"--repack,!--no-repack", Takes::kNothing, "LLAMA_ARG_REPACK", "-nr=--no-repack"},
    {"--lazy-mode", Takes::kValue, "LLAMA_ARG_LAZY_MODE", "-lzm"},
    {"--direct-io,!--no-direct-io", Takes::kNothing, "LLAMA_ARG_DIO", "-dio,-ndio=--no-direct-io"},
    // Never needed.
    {"--warmup,!--no-warmup", Takes::kNothing},
    {"--defrag-thold", Takes::kValue, "LLAMA_ARG_DEFRAG_THOLD", "-dt"},
    {"--numa", Takes::kValue, "LLAMA_ARG_NUMA"},
    {"--prio", Takes::kValue},
    {"--prio-batch", Takes::kValue},
    {"--poll", Takes::kValue},
    {"--poll-batch", Takes::kValue},
    {"--cpu-mask", Takes::kValue, nullptr, "-C"},
    {"--cpu-range", Takes::kValue, nullptr, "-Cr"},
    {"--cpu-strict", Takes::kValue},
    {"--cpu-mask-batch", Takes::kValue, nullptr, "-Cb"},
    {"--cpu-range-batch", Takes::kValue, nullptr, "-Crb"},
    {"--cpu-strict-batch", Takes::kValue},
    {"--no-host", Takes::kNothing, "LLAMA_ARG_NO_HOST"},
    {"--op-offload,!--no-op-offload", Takes::kNothing},
    {"--perf,!--no-perf", Takes::kNothing, "LLAMA_ARG_PERF"},
    {"--escape,!--no-escape", Takes::kNothing, nullptr, "-e"},
    {"--adaptive-decay", Takes::kValue},
    // What asks for nothing that Puna could not give.
    {"--spec-type", Takes::kValue, "LLAMA_ARG_SPEC_TYPE", "", "none"},
    {"--adaptive-target", Takes::kValue, nullptr, "", "-1,-1.0,-1.00"},
    {"--ui-mcp-proxy,!--no-ui-mcp-proxy", Takes::kNothing, "LLAMA_ARG_UI_MCP_PROXY",
     "--webui-mcp-proxy=--ui-mcp-proxy,--no-webui-mcp-proxy=--no-ui-mcp-proxy", "off"},
    {"--agent,!--no-agent", Takes::kNothing, "LLAMA_ARG_AGENT", "-ag,-no-ag=--no-agent", "off"},
};

Result<void> read(const Row& row, ServeFlags& flags, std::string_view option,
                  std::string_view given) {
  std::string value(given);
  if (row.takes == Takes::kNothing) {
    PUNA_TRY(const bool on, truth(option, given));
    value = on ? "on" : "off";
  }
  if (row.only) {
    const std::vector<std::string> words = parts_of(row.only);
    const bool taken = std::ranges::find(words, value) != words.end();
    if (!taken && row.takes == Takes::kNothing) {
      return base::fail(ErrorCode::kUsage,
                        fmt::format("{} cannot be {}: that is not supported yet.", option, value));
    }
    if (!taken) return not_one_of(option, value, words);
  }
  if (value == row.contrary) {
    flags.notes.push_back(
        fmt::format("warning: {} cannot be off: what it is about is always done.", option));
  } else {
    flags.notes.push_back(
        fmt::format("{} has no effect here: it is always so, or never needed.", option));
  }
  return {};
}

std::vector<Flag> effectless_rows() {
  std::vector<Flag> out;
  for (const Row& row : kRows) {
    Flag flag = value(row.names, row.takes == Takes::kValue ? "TEXT" : "", "",
                      [&row](ServeFlags& flags, std::string_view option, std::string_view given) {
                        return read(row, flags, option, given);
                      });
    out.push_back(with(std::move(flag), row.llama, row.also));
  }
  return out;
}

}  // namespace

std::span<const Flag> effectless_flags() {
  static const std::vector<Flag> kFlags = effectless_rows();
  return kFlags;
}

}  // namespace puna::cli::serve
