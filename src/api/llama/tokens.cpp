#include "api/llama/tokens.h"

#include <fmt/format.h>

#include "api/fields.h"

namespace puna::api::llama {

using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr Field kTokenizeFields[] = {
    Field{"content", Kind::kText, "The text."}.needed(),
    Field{"add_special", Kind::kFlag, "Adds the tokens that the model's texts begin and end with."}
        .or_else("false"),
    Field{"parse_special", Kind::kFlag, "Reads the names of special tokens as these."}.or_else(
        "true"),
    Field{"with_pieces", Kind::kFlag, "Gives {id, piece} for each token in place of its id."}
        .or_else("false"),
    {"model", Kind::kText, "A name of the model."},
};
constexpr Field kDetokenizeFields[] = {
    Field{"tokens", Kind::kList, "The ids."}.needed().shaped(R"(["integer"])"),
    {"model", Kind::kText, "A name of the model."},
};

// A text, or the bytes of a piece that is none by itself.
Json piece_json(const std::string& bytes) {
  Json text(bytes);
  if (const auto same = Json::parse(text.dump()); same && *same == text) return text;
  Json out = Json::array();
  for (const char c : bytes) out.push(static_cast<unsigned char>(c));
  return out;
}

}  // namespace

std::span<const Field> tokenize_fields() { return kTokenizeFields; }
std::span<const Field> detokenize_fields() { return kDetokenizeFields; }

Result<Exchange> tokenize(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kTokenizeFields}));
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(call.model->loaded()));
  const auto content = body.text("content");
  if (!content) return refuse_field("content", Json(), "a text");
  const std::vector<int32_t> ids =
      tokenizer->encode(*content, {.add_special = body.flag("add_special").value_or(false),
                                   .parse_special = body.flag("parse_special").value_or(true)});
  Json tokens = Json::array();
  for (const int32_t id : ids) {
    if (body.flag("with_pieces").value_or(false)) {
      const Json piece = piece_json(tokenizer->bytes(id, /*special=*/true));
      tokens.push(Json::object().set("id", id).set("piece", piece));
    } else {
      tokens.push(id);
    }
  }
  return HttpReply::json(Json::object().set("tokens", std::move(tokens)));
}

Result<Exchange> detokenize(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kDetokenizeFields}));
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(call.model->loaded()));
  const Json* list = body.find("tokens");
  PUNA_TRY(const std::vector<int32_t> ids, token_ids("tokens", list ? *list : Json()));
  PUNA_TRY(call.model->loaded().engine->check_tokens(ids));
  return HttpReply::json(Json::object().set("content", tokenizer->decode(ids, /*special=*/true)));
}

}  // namespace puna::api::llama
