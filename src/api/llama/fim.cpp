#include "api/llama/fim.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace puna::api::llama {
namespace {

using Texts = std::span<const std::string_view>;

constexpr std::string_view kPrefix[] = {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",
                                        "<PRE>",          "▁<PRE>",       "<｜fim▁begin｜>",
                                        "<|code_prefix|>"};
constexpr std::string_view kSuffix[] = {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",
                                        "<SUF>",          "▁<SUF>",       "<｜fim▁hole｜>",
                                        "<|code_suffix|>"};
constexpr std::string_view kMiddle[] = {"<|fim_middle|>", "<fim-middle>", "<fim_middle>",
                                        "<MID>",          "▁<MID>",       "<｜fim▁end｜>",
                                        "<|code_middle|>"};
constexpr std::string_view kRepository[] = {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>",
                                            "<repo_name>", "<reponame>"};
constexpr std::string_view kFile[] = {"<|file_sep|>", "<file_sep>"};

std::optional<int32_t> find(const service::LoadedModel& model, std::string_view key, Texts texts) {
  const std::vector<std::string>& tokens = model.tokenizer->vocabulary().tokens;
  const auto named = model.engine->file().get_uint(key);
  if (named && *named < tokens.size()) return static_cast<int32_t>(*named);
  for (const std::string_view text : texts) {
    const auto found = std::ranges::find(tokens, text);
    if (found != tokens.end()) return static_cast<int32_t>(found - tokens.begin());
  }
  return {};
}

}  // namespace

std::optional<FimTokens> fim_tokens(const service::LoadedModel& model) {
  if (!model.tokenizer) return {};
  const auto prefix = find(model, "tokenizer.ggml.fim_pre_token_id", kPrefix);
  const auto suffix = find(model, "tokenizer.ggml.fim_suf_token_id", kSuffix);
  const auto middle = find(model, "tokenizer.ggml.fim_mid_token_id", kMiddle);
  if (!prefix || !suffix || !middle) return {};
  return FimTokens{.prefix = *prefix,
                   .suffix = *suffix,
                   .middle = *middle,
                   .repository = find(model, "tokenizer.ggml.fim_rep_token_id", kRepository),
                   .file = find(model, "tokenizer.ggml.fim_sep_token_id", kFile)};
}

}  // namespace puna::api::llama
