// The tokens between which models write on in the middle of a text ("fill in the middle").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/model.h"

namespace puna::api::llama {

struct FimTokens {
  int32_t prefix = -1, suffix = -1, middle = -1;
  std::optional<int32_t> repository, file;  // before the name of a repository, and of each file
};
// As the model's file names them, else by the texts that are known of vocabularies; none: it has no
// such tokens.
std::optional<FimTokens> fim_tokens(const service::LoadedModel& model);

// The same. Errors: kUnsupported for a model that has none; those of tokenizer_of().
base::Result<FimTokens> need_fim_tokens(const service::LoadedModel& model);

// Adds the tokens of a part of a prompt: without what stands around whole texts, and with marks as
// plain text.
void add_part(const tokenizer::Tokenizer& tokenizer, std::string_view text,
              std::vector<int32_t>& to);

// A prompt at whose end the model, whose tokens these are, writes what stands between two texts;
// `front`: what comes first, behind the token that texts begin with.
std::vector<int32_t> tokens_between(std::string_view before, std::string_view behind,
                                    const FimTokens& fim, const service::LoadedModel& model,
                                    std::span<const int32_t> front = {});

}  // namespace puna::api::llama
