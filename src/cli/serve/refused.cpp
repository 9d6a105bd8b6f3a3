// Flags of llama-server that nobody should miss without knowing.
#include <fmt/format.h>

#include "cli/serve/table.h"

namespace puna::cli::serve {
namespace {

enum class Why : uint8_t { kNotYet, kNever, kRemoved };

// Names, separated by commas; with an asterisk at its end a name is all that begins so, at its
// beginning all that end so.
struct Row {
  std::string_view flags;
  Why why;
  std::string_view variables = "";
};
constexpr Row kRows[] = {
    {"--draft,--draft-n,--draft-max,--draft-min,--draft-n-min,--spec-ngram-size-n,"
     "--spec-ngram-size-m,--spec-ngram-min-hits,--grp-attn-n,-gan,--grp-attn-w,-gaw,--defrag,"
     "--verbose-prompt,--system-prompt-file",
     Why::kRemoved, "LLAMA_ARG_DRAFT_MAX,LLAMA_ARG_DRAFT_MIN"},
    // With work of their own.
    {"--lora*", Why::kNotYet},
    {"--spec-*,*-draft,-md,-ngld,-hfd,-hfrd,-td,-tbd,-Cd,-Crd,-Cbd,-otd,-cmoed,-ncmoed,-devd,-ctkd,"
     "-ctvd,--draft-p-min,--draft-p-split",
     Why::kNotYet, "LLAMA_ARG_SPEC_*,LLAMA_ARG_N_GPU_LAYERS_DRAFT"},
    {"--mmproj-url,-mmu,--mmproj-device,-mmdev,--mtmd-*,--video-*,--media-path", Why::kNotYet,
     "LLAMA_ARG_MMPROJ_URL,LLAMA_ARG_MTMD_*,LLAMA_ARG_VIDEO_*"},
    {"--hf-repo,-hf,-hfr,--hf-file,-hff,--hf-token,-hft,--model-url,-mu", Why::kNotYet,
     "LLAMA_ARG_HF_REPO,LLAMA_ARG_HF_FILE,LLAMA_ARG_MODEL_URL"},
    {"--path,--ui-config,--webui-config,--ui-config-file,--webui-config-file", Why::kNotYet,
     "LLAMA_ARG_STATIC_PATH,LLAMA_ARG_UI_CONFIG,LLAMA_ARG_UI_CONFIG_FILE"},
    {"--tools", Why::kNotYet, "LLAMA_ARG_TOOLS"},
    {"--log-prompts-dir,--cache-list,-cl,--completion-bash", Why::kNotYet},
    // They would change what a model computes, or open doors.
    {"--rpc", Why::kNever, "LLAMA_ARG_RPC"},
    {"--override-tensor,-ot,--override-kv,--n-cpu-ffn,-ncffn,--moe-cache-mib", Why::kNever,
     "LLAMA_ARG_OVERRIDE_TENSOR,LLAMA_ARG_N_CPU_FFN,LLAMA_ARG_MOE_CACHE_MIB"},
    {"--control-vector*,--rope-*,--yarn-*", Why::kNever, "LLAMA_ARG_ROPE_*,LLAMA_ARG_YARN_*"},
    {"--mcp-servers-*,--tools-runtime", Why::kNever,
     "LLAMA_ARG_MCP_SERVERS_*,LLAMA_ARG_TOOLS_RUNTIME"},
    {"--docker-repo,-dr,--lookup-cache-*,-lcs,-lcd,--fim-*,--gpt-oss-*,--vision-*,"
     "--embd-gemma-default",
     Why::kNever, "LLAMA_ARG_DOCKER_REPO"},
};

bool is_of(std::string_view name, std::string_view list) {
  for (const std::string& each : parts_of(list)) {
    const std::string_view wanted = each;
    if (wanted.ends_with('*') && name.starts_with(wanted.substr(0, wanted.size() - 1))) return true;
    if (wanted.starts_with('*') && name.ends_with(wanted.substr(1))) return true;
    if (name == wanted) return true;
  }
  return false;
}

std::string said(std::string_view name, Why why) {
  switch (why) {
    case Why::kNotYet:
      return fmt::format("{} is not supported yet", name);
    case Why::kNever:
      return fmt::format("{} is not supported: it would change what models compute, or open doors",
                         name);
    case Why::kRemoved:
      break;
  }
  return fmt::format("{} is not supported: llama-server has removed it", name);
}

std::string refusal(std::string_view name, std::string_view Row::* names) {
  for (const Row& row : kRows) {
    if (is_of(name, row.*names)) return said(name, row.why);
  }
  return {};
}

}  // namespace

std::string refusal(std::string_view flag) { return refusal(flag, &Row::flags); }
std::string refusal_of_variable(std::string_view variable) {
  return refusal(variable, &Row::variables);
}

}  // namespace puna::cli::serve
