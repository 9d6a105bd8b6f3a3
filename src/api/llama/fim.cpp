#include "api/llama/fim.h"

#include <fmt/format.h>

#include <algorithm>

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

base::Result<FimTokens> need_fim_tokens(const service::LoadedModel& model) {
  PUNA_TRY(service::tokenizer_of(model));
  if (const auto fim = fim_tokens(model)) return *fim;
  return base::fail(
      base::ErrorCode::kUnsupported,
      fmt::format("The vocabulary of {} has no tokens for the prefix, suffix and middle of a "
                  "text, so nothing can be written in between.",
                  model.name));
}

void add_part(const tokenizer::Tokenizer& tokenizer, std::string_view text,
              std::vector<int32_t>& to) {
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  to.insert(to.end(), ids.begin(), ids.end());
}

std::vector<int32_t> tokens_between(std::string_view before, std::string_view behind,
                                    const FimTokens& fim, const service::LoadedModel& model,
                                    std::span<const int32_t> front) {
  std::vector<int32_t> out;
  const tokenizer::Vocabulary& vocabulary = model.tokenizer->vocabulary();
  if (vocabulary.add_bos && vocabulary.bos) out.push_back(*vocabulary.bos);
  out.insert(out.end(), front.begin(), front.end());
  const auto add = [&](int32_t mark, std::string_view text) {
    out.push_back(mark);
    add_part(*model.tokenizer, text, out);
  };
  if (model.defaults.suffix_first) add(fim.suffix, behind);
  add(fim.prefix, before);
  if (!model.defaults.suffix_first) add(fim.suffix, behind);
  out.push_back(fim.middle);
  return out;
}

}  // namespace puna::api::llama
