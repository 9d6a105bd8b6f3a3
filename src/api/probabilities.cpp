#include "api/probabilities.h"

#include <algorithm>

#include "tokenizer/tokenizer.h"

namespace puna::api {

using base::Json;

namespace {

Json one_json(const tokenizer::Tokenizer* tokenizer, const kernels::TokenLogprob& token) {
  // Of a token that the model rules out, as OpenAI has it: JSON knows no infinity.
  constexpr float kLeast = -9999;
  const std::string text = token_text(tokenizer, token.id);
  Json bytes = Json::array();
  for (const char c : text) bytes.push(static_cast<unsigned char>(c));
  Json out = Json::object();
  out.set("id", token.id).set("token", text).set("bytes", std::move(bytes));
  return out.set("logprob", double{std::max(token.logprob, kLeast)});
}

}  // namespace

std::string token_text(const tokenizer::Tokenizer* tokenizer, int32_t id) {
  return tokenizer ? tokenizer->bytes(id, /*special=*/true) : std::string();
}

Json chosen_json(const tokenizer::Tokenizer* tokenizer, const kernels::Chosen& chosen,
                 uint32_t n_top) {
  Json top = Json::array();
  for (size_t i = 0; i < std::min<size_t>(n_top, chosen.top.size()); ++i)
    top.push(one_json(tokenizer, chosen.top[i]));
  Json out = one_json(tokenizer, {chosen.id, chosen.logprob.value_or(0)});
  return out.set("top_logprobs", std::move(top));
}

std::optional<kernels::Chosen> chosen_of(const service::Event& event) {
  if (!event.logprob) return {};
  return kernels::Chosen{event.token, event.logprob, event.top};
}

}  // namespace puna::api
