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

// A prompt at whose end the model writes what stands between two texts; `front`: what comes first,
// behind the token that texts begin with. Errors: kUnsupported for a model that does not know how
// to; those of tokenizer_of().
base::Result<std::vector<int32_t>> tokens_between(std::string_view before, std::string_view behind,
                                                  const service::LoadedModel& model,
                                                  std::span<const int32_t> front = {});

}  // namespace puna::api::llama
