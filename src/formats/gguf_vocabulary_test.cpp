#include "formats/gguf_vocabulary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "formats/caught_warnings.h"
#include "formats/gguf_test_util.h"

using namespace puna;
using namespace puna::formats;
using tokenizer::TokenType;
using tokenizer::Vocabulary;

namespace {

Vocabulary vocabulary_of(const GgufBuilder& builder) {
  const std::string bytes = builder.build();
  auto file = open_now(bytes);
  if (!file) FAIL(file.error().text());
  return std::move(file->vocabulary);
}

GgufBuilder sentencepiece(const std::vector<std::string>& tokens) {
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens);
  return builder;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a byte-level vocabulary arrives whole, and its lists leave the metadata") {
  const std::string bytes = tiny_gguf().build();
  const auto file = open_now(bytes);
  REQUIRE(file);
  const Vocabulary& vocabulary = file->vocabulary;
  CHECK(vocabulary.model == "gpt2");
  CHECK(vocabulary.pre == "smollm");
  CHECK(vocabulary.tokens == std::vector<std::string>{"<|endoftext|>", "a", "b", "ab"});
  CHECK(vocabulary.merges == std::vector<std::string>{"a b"});
  CHECK(vocabulary.types[0] == TokenType::kControl);
  CHECK(vocabulary.types[3] == TokenType::kNormal);
  CHECK(vocabulary.scores.empty());
  CHECK(vocabulary.bos == 0);
  CHECK(!vocabulary.add_bos);
  CHECK(vocabulary.end_tokens == std::vector<int32_t>{0});
  CHECK(file->find("tokenizer.ggml.tokens") == nullptr);
  CHECK(file->find("tokenizer.ggml.merges") == nullptr);
  CHECK(file->get_string("tokenizer.ggml.model").value() == "gpt2");
}

TEST_CASE("a file without a tokenizer has an empty vocabulary") {
  GgufBuilder builder;
  builder.f32("w", {4});
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(vocabulary.model.empty());
  CHECK(vocabulary.tokens.empty());
}

TEST_CASE("SentencePiece defaults hold where the file is silent, and give way where it is not") {
  GgufBuilder silent = sentencepiece({"<unk>", "<s>", "</s>", "x"});
  silent.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0, 0, 0, -1.5f});
  const Vocabulary defaults = vocabulary_of(silent);
  CHECK(defaults.unk == 0);
  CHECK(defaults.bos == 1);
  CHECK(defaults.eos == 2);
  CHECK(defaults.add_bos);
  CHECK(defaults.space_prefix == tokenizer::SpacePrefix::kAlways);
  CHECK(defaults.scores[3] == -1.5f);
  CHECK(defaults.end_tokens == std::vector<int32_t>{2});

  GgufBuilder told = sentencepiece({"<pad>", "<eos>", "<bos>", "<unk>"});
  told.u32("tokenizer.ggml.bos_token_id", 2)
      .u32("tokenizer.ggml.eos_token_id", 1)
      .u32("tokenizer.ggml.unknown_token_id", 3);
  told.u32("tokenizer.ggml.padding_token_id", 0).boolean("tokenizer.ggml.add_bos_token", false);
  told.boolean("tokenizer.ggml.add_eos_token", true)
      .boolean("tokenizer.ggml.add_space_prefix", false);
  const Vocabulary vocabulary = vocabulary_of(told);
  CHECK(vocabulary.bos == 2);
  CHECK(vocabulary.eos == 1);
  CHECK(vocabulary.unk == 3);
  CHECK(vocabulary.pad == 0);
  CHECK(!vocabulary.add_bos);
  CHECK(vocabulary.add_eos);
  CHECK(vocabulary.space_prefix == tokenizer::SpacePrefix::kNever);
}

TEST_CASE("pre-tokenizers whose models begin with BOS add it where the file is silent") {
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "llama-bpe")
      .texts("tokenizer.ggml.tokens", {"a"});
  CHECK(vocabulary_of(builder).add_bos);
}

TEST_CASE("end tokens are eos, eot, eom and the well-known turn ends, each once") {
  GgufBuilder builder = sentencepiece(
      {"<unk>", "<s>", "</s>", "<|eot_id|>", "<end_of_turn>", "word", "<|im_end|>", "stop"});
  builder.u32("tokenizer.ggml.eos_token_id", 2)
      .u32("tokenizer.ggml.eot_token_id", 3)
      .u32("tokenizer.ggml.eom_token_id", 7);
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(vocabulary.eot == 3);
  CHECK(vocabulary.end_tokens == std::vector<int32_t>{2, 3, 7, 4, 6});
}

TEST_CASE("in the Harmony format <|end|> does not end a turn") {
  CHECK(vocabulary_of(sentencepiece({"u", "s", "e", "<|end|>"})).end_tokens ==
        std::vector<int32_t>{2, 3});
  CHECK(vocabulary_of(sentencepiece({"u", "s", "e", "<|end|>", "<|return|>", "<|call|>"}))
            .end_tokens == std::vector<int32_t>{2, 4, 5});
}

TEST_CASE("lists of different lengths or of another kind leave the file without a vocabulary") {
  const CaughtWarnings warnings;
  const auto fault = [](const GgufBuilder& builder) {
    const std::string bytes = builder.build();
    const auto file = open_now(bytes);
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    REQUIRE(file->vocabulary_error);
    CHECK(file->vocabulary.tokens.empty());
    CHECK(file->find("tokenizer.ggml.tokens"));  // the metadata stays whole
    return file->vocabulary_error->message;
  };
  GgufBuilder scores = sentencepiece({"a", "b"});
  scores.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0});
  CHECK(fault(scores) == "The metadata key \"tokenizer.ggml.scores\" has 1 items for 2 tokens.");
  GgufBuilder types = sentencepiece({"a", "b"});
  types.texts("tokenizer.ggml.token_type", {"1", "1"});
  CHECK(contains(fault(types), "\"tokenizer.ggml.token_type\" is [\"1\", \"1\"]"));
  GgufBuilder tokens;
  tokens.text("tokenizer.ggml.model", "llama").u32("tokenizer.ggml.tokens", 5);
  CHECK(contains(fault(tokens),
                 "\"tokenizer.ggml.tokens\" is 5 (an unsigned integer), not a list "
                 "of strings"));
  REQUIRE(warnings.lines.size() == 3);
  CHECK(warnings.lines[0] ==
        "test.gguf can be used with token ids only, not with texts: The metadata key "
        "\"tokenizer.ggml.scores\" has 1 items for 2 tokens.");
}

TEST_CASE("what no text depends on is passed over where it is wrong, with one warning") {
  const CaughtWarnings warnings;
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b", "c"});
  builder.numbers<int32_t>("tokenizer.ggml.token_type", GgufValueType::kI32, {1, 9, -1});
  builder.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0});
  builder.u32("tokenizer.ggml.eos_token_id", 3).text("tokenizer.ggml.bos_token_id", "1");
  builder.u32("tokenizer.ggml.add_bos_token", 2);
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(vocabulary.types[1] == TokenType::kNormal);
  CHECK(vocabulary.scores.empty());
  CHECK(!vocabulary.eos);
  CHECK(!vocabulary.bos);
  CHECK(!vocabulary.add_bos);
  REQUIRE(warnings.lines.size() == 1);
  for (const char* part :
       {"unknown token type 9 at token 1", "\"tokenizer.ggml.scores\" has 1 items for 3 tokens",
        "\"tokenizer.ggml.eos_token_id\" is 3, outside the vocabulary of 3 tokens",
        "\"tokenizer.ggml.bos_token_id\" is \"1\" (a string)",
        "\"tokenizer.ggml.add_bos_token\" is 2 (an unsigned integer), not true or false"})
    CHECK_MESSAGE(contains(warnings.lines[0], part), warnings.lines[0]);
}

TEST_CASE("the numbers that mean none are no tokens, and no fault") {
  const CaughtWarnings warnings;
  GgufBuilder builder = sentencepiece({"u", "s", "e", "x"});
  builder.u32("tokenizer.ggml.bos_token_id", 0xffffffffu)
      .number("tokenizer.ggml.eos_token_id", GgufValueType::kI32, int32_t{-1})
      .number("tokenizer.ggml.padding_token_id", GgufValueType::kI64, int64_t{-1})
      .number("tokenizer.ggml.unknown_token_id", GgufValueType::kU64, ~uint64_t{0});
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(!vocabulary.bos);
  CHECK(!vocabulary.eos);
  CHECK(!vocabulary.pad);
  CHECK(!vocabulary.unk);
  CHECK(vocabulary.end_tokens.empty());
  CHECK(warnings.lines.empty());
}

TEST_CASE("an id outside the vocabulary counts as absent: what is usual for the model holds") {
  const CaughtWarnings warnings;
  GgufBuilder builder = sentencepiece({"u", "s", "e"});
  builder.u32("tokenizer.ggml.eos_token_id", 3).u32("tokenizer.ggml.padding_token_id", 99);
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(vocabulary.eos == 2);
  CHECK(!vocabulary.pad);
  CHECK(warnings.lines.size() == 1);
}

TEST_CASE("of many ids outside the vocabulary the first is named") {
  const CaughtWarnings warnings;
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b", "c"});
  builder.numbers("tokenizer.ggml.eos_token_ids", GgufValueType::kI8, std::vector<int8_t>(1000, 5));
  CHECK(vocabulary_of(builder).end_tokens.empty());
  CHECK(warnings.lines ==
        std::vector<std::string>{
            "Some of what the file says of its vocabulary is passed over: The metadata key "
            "\"tokenizer.ggml.eos_token_ids\" is 5, outside the vocabulary of 3 tokens (the first "
            "of 1000 such ids)."});
}

TEST_CASE("types and scores are numbers of any kind") {
  const auto with = [](auto change) {
    GgufBuilder builder = sentencepiece({"u", "s", "e"});
    change(builder);
    return vocabulary_of(builder);
  };
  const std::vector<TokenType> wanted = {TokenType::kUnknown, TokenType::kControl,
                                         TokenType::kNormal};
  constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
  CHECK(with([&](GgufBuilder& b) {
          b.numbers<uint8_t>(kTypes, GgufValueType::kU8, {2, 3, 1});
        }).types == wanted);
  CHECK(with([&](GgufBuilder& b) {
          b.numbers<uint32_t>(kTypes, GgufValueType::kU32, {2, 3, 1});
        }).types == wanted);
  CHECK(with([&](GgufBuilder& b) {
          b.numbers<int64_t>(kTypes, GgufValueType::kI64, {2, 3, 0});
        }).types == wanted);
  CHECK(with([&](GgufBuilder& b) {
          b.numbers<float>(kTypes, GgufValueType::kF32, {2, 3, 1});
        }).types == wanted);
  const std::vector<float> scores = {0, -1, -2};
  constexpr std::string_view kScores = "tokenizer.ggml.scores";
  CHECK(with([&](GgufBuilder& b) {
          b.numbers<int32_t>(kScores, GgufValueType::kI32, {0, -1, -2});
        }).scores == scores);
  CHECK(with([&](GgufBuilder& b) {
          b.numbers<double>(kScores, GgufValueType::kF64, {0, -1, -2});
        }).scores == scores);
}

TEST_CASE("every id of a list ends a turn, and comes back from the keys of a written file") {
  const CaughtWarnings warnings;
  GgufBuilder builder = sentencepiece({"u", "s", "e", "x", "y"});
  builder.numbers<uint32_t>("tokenizer.ggml.eos_token_ids", GgufValueType::kU32, {3, 99, 4});
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(vocabulary.eos == 2);
  CHECK(vocabulary.end_tokens == std::vector<int32_t>{2, 3, 4});
  CHECK(warnings.lines.size() == 1);
  GgufBuilder listed = sentencepiece({"u", "s", "e", "x", "y"});
  listed.numbers<int32_t>("tokenizer.ggml.eos_token_id", GgufValueType::kI32, {4, 3});
  CHECK(vocabulary_of(listed).eos == 4);
  CHECK(vocabulary_of(listed).end_tokens == std::vector<int32_t>{4, 3});

  std::vector<std::pair<std::string, Value>> metadata;
  put_vocabulary(vocabulary, "", metadata);
  metadata.emplace_back("tokenizer.ggml.tokens", vocabulary.tokens);
  CHECK(take_vocabulary(metadata)->end_tokens == vocabulary.end_tokens);
}

TEST_CASE("a list of end tokens may be as long as the vocabulary") {
  // Long enough that comparing each id with all before it would take minutes.
  std::vector<int32_t> ids(200'000);
  std::iota(ids.begin(), ids.end(), 0);
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", "gpt2")
      .texts("tokenizer.ggml.tokens", std::vector<std::string>(ids.size(), "<|im_end|>"));
  builder.numbers("tokenizer.ggml.eos_token_ids", GgufValueType::kI32, ids);
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK((vocabulary.end_tokens == ids));
  std::vector<std::pair<std::string, Value>> metadata;
  put_vocabulary(vocabulary, "", metadata);
  const auto key = [](const auto& pair) { return pair.first == "tokenizer.ggml.eos_token_ids"; };
  CHECK(std::ranges::none_of(metadata, key));  // their names say it
}

TEST_CASE("a vocabulary is dropped where far more rows than tokens are in the embedding table") {
  const CaughtWarnings warnings;
  const auto with_rows = [](uint64_t n_rows) {
    GgufBuilder builder = sentencepiece({"u", "s", "e"});
    builder.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0, 0, 0});
    builder.f32("token_embd.weight", {1, n_rows});
    const std::string bytes = builder.build();
    auto file = open_now(bytes);
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    return *std::move(file);
  };
  CHECK(with_rows(3 + kMostHoles).vocabulary.tokens.size() == 3 + kMostHoles);
  CHECK(warnings.lines.empty());
  const ModelFile file = with_rows(4 + kMostHoles);
  CHECK(file.vocabulary.tokens.empty());
  REQUIRE(file.vocabulary_error);
  CHECK(
      file.vocabulary_error->message ==
      "The tensor \"token_embd.weight\" has 65540 rows for 3 tokens; at most 65536 may be without "
      "one.");
  CHECK(warnings.lines.size() == 1);
}

TEST_CASE("rows of the embedding table that no token has get unused tokens") {
  GgufBuilder builder = sentencepiece({"u", "s", "e"});
  builder.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0, 0, 0});
  builder.f32("token_embd.weight", {4, 5});
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(vocabulary.tokens.size() == 5);
  CHECK(vocabulary.scores.size() == 5);
  CHECK(vocabulary.types[4] == TokenType::kUnused);
}
