// Token for token against the reference libraries: tests/fixtures/tokenizer, made by
// tools/make_tokenizer_fixtures.py.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "tokenizer/normal_form.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/tokenizer.h"

namespace puna::tokenizer {
namespace {

base::Json read_fixture(const char* name) {
  std::ifstream file(std::string("tests/fixtures/tokenizer/") + name);
  REQUIRE_MESSAGE(file, "tests run in the root of the repository");
  std::stringstream text;
  text << file.rdbuf();
  auto json = base::Json::parse(text.str());
  REQUIRE(json.has_value());
  return *std::move(json);
}

std::vector<TokenType> types_of(const base::Json& json) {
  std::vector<TokenType> types;
  for (const auto& type : json.items()) types.push_back(static_cast<TokenType>(type.integer()));
  return types;
}

std::vector<int32_t> ids_of(const base::Json& json) {
  std::vector<int32_t> ids;
  for (const auto& id : json.items()) ids.push_back(static_cast<int32_t>(id.integer()));
  return ids;
}

Vocabulary vocabulary_of(const base::Json& fixture) {
  Vocabulary v;
  v.model = fixture.find("model")->string();
  for (const auto& token : fixture.find("tokens")->items()) v.tokens.push_back(token.string());
  v.types = types_of(*fixture.find("types"));
  if (const auto* scores = fixture.find("scores")) {
    for (const auto& score : scores->items())
      v.scores.push_back(static_cast<float>(score.number()));
  }
  if (const auto* merges = fixture.find("merges")) {
    for (const auto& merge : merges->items()) v.merges.push_back(merge.string());
  }
  if (const auto* map = fixture.find("charsmap")) {
    std::string bytes;
    for (const auto& byte : map->items()) bytes.push_back(static_cast<char>(byte.integer()));
    v.normalizer = {{NormalizerStep::Kind::kCharsmap, std::move(bytes)},
                    {NormalizerStep::Kind::kCollapseSpaces}};
  }
  if (const auto* unk = fixture.find("unk")) v.unk = static_cast<int32_t>(unk->integer());
  return v;
}

std::unique_ptr<Tokenizer> tokenizer_for(const base::Json& fixture, const base::Json& variant) {
  Vocabulary v = vocabulary_of(fixture);
  if (const auto* pre = variant.find("pre")) v.pre = pre->string();
  if (const auto* types = variant.find("types")) v.types = types_of(*types);
  const bool space = variant.find("space") != nullptr && variant.find("space")->boolean();
  v.space_prefix = space ? SpacePrefix::kAlways : SpacePrefix::kNever;
  auto tokenizer = Tokenizer::create(std::move(v));
  REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().text());
  return *std::move(tokenizer);
}

void check_fixture(const char* name) {
  const base::Json fixture = read_fixture(name);
  const auto& texts = fixture.find("texts")->items();
  for (const auto& variant : fixture.find("variants")->items()) {
    CAPTURE(variant.find("name")->string());
    const auto tokenizer = tokenizer_for(fixture, variant);
    const bool special = variant.find("special") != nullptr && variant.find("special")->boolean();
    const auto& expected = variant.find("ids")->items();
    REQUIRE(expected.size() == texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(texts[i].string());
      CHECK(
          tokenizer->encode(texts[i].string(), {.add_special = false, .parse_special = special}) ==
          ids_of(expected[i]));
    }
  }
}

TEST_CASE("byte-level BPE gives the ids of Hugging Face tokenizers under every rule") {
  check_fixture("byte_level.json");
}

TEST_CASE("SentencePiece BPE gives the ids of sentencepiece") {
  check_fixture("sentencepiece.json");
}

TEST_CASE("unigram gives the ids of sentencepiece, its compiled normalization rules included") {
  check_fixture("unigram.json");
}

TEST_CASE("decoding gives the text back, all at once and as a stream that never cuts a character") {
  for (const char* name : {"byte_level.json", "sentencepiece.json"}) {
    const base::Json fixture = read_fixture(name);
    for (const auto& variant : fixture.find("variants")->items()) {
      const std::string variant_name = variant.find("name")->string();
      if (variant_name == "without byte tokens") continue;  // unknown characters are lost
      CAPTURE(variant_name);
      const auto tokenizer = tokenizer_for(fixture, variant);
      const auto& expected = variant.find("ids")->items();
      for (size_t i = 0; i < expected.size(); ++i) {
        const std::string& given = fixture.find("texts")->items()[i].string();
        std::string text;  // as it comes back
        const auto rule = find_pre_tokenizer(tokenizer->vocabulary().pre);
        if (rule && (*rule)->nfc) {
          append_normal(given, NormalForm::kNfc, text);
        } else {
          text = given;
        }
        // A byte that the vocabulary lacks and a literal U+2581 do not come back.
        if (text.find('\x06') != std::string::npos || text.find("\u2581") != std::string::npos)
          continue;
        const auto ids = ids_of(expected[i]);
        CAPTURE(text);
        CHECK(tokenizer->decode(ids, /*special=*/true) == text);
        StreamDecoder stream(*tokenizer, /*special=*/true);
        std::string streamed;
        for (const int32_t id : ids) {
          const std::string part = stream.push(id);
          CHECK(base::Json(part).dump().find("\uFFFD") ==
                std::string::npos);  // what dump() writes for broken UTF-8
          streamed += part;
        }
        CHECK(stream.finish().empty());
        CHECK(streamed == text);
      }
    }
  }
}

}  // namespace
}  // namespace puna::tokenizer
