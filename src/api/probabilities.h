// How probable tokens are, as OpenAI's chats and llama.cpp's server write it.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "kernels/sample/chosen.h"
#include "service/request.h"

namespace puna::tokenizer {
class Tokenizer;
}

namespace puna::api {

// The text of a token; empty without a tokenizer (null).
std::string token_text(const tokenizer::Tokenizer* tokenizer, int32_t id);

// {id, token, bytes, logprob, top_logprobs: [{id, token, bytes, logprob}, …]}: of the most probable
// n_top at most.
base::Json chosen_json(const tokenizer::Tokenizer* tokenizer, const kernels::Chosen& chosen,
                       uint32_t n_top);

// The token that an event brings; only where it has probabilities.
std::optional<kernels::Chosen> chosen_of(const service::Event& event);

}  // namespace puna::api
