// The tokens between which models write on in the middle of a text ("fill in the middle").
#pragma once

#include <cstdint>
#include <optional>

#include "service/model.h"

namespace puna::api::llama {

struct FimTokens {
  int32_t prefix = -1, suffix = -1, middle = -1;
  std::optional<int32_t> repository, file;  // before the name of a repository, and of each file
};
// As the model's file names them, else by the texts that are known of vocabularies; none: it has no
// such tokens.
std::optional<FimTokens> fim_tokens(const service::LoadedModel& model);

}  // namespace puna::api::llama
