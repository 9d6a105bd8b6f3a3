#include "formats/gguf_vocabulary.h"

#include <doctest/doctest.h>

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

std::string error_of(const GgufBuilder& builder) {
  const std::string bytes = builder.build();
  return open_error(bytes);
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

TEST_CASE("lists of different lengths, ids outside and wrong kinds are refused by key") {
  GgufBuilder scores = sentencepiece({"a", "b"});
  scores.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0});
  CHECK(contains(error_of(scores), "\"tokenizer.ggml.scores\" has 1 items for 2 tokens"));
  GgufBuilder types = sentencepiece({"a", "b"});
  types.numbers<int32_t>("tokenizer.ggml.token_type", GgufValueType::kI32, {1, 9});
  CHECK(contains(error_of(types),
                 "\"tokenizer.ggml.token_type\" has the unknown token type 9 at token 1"));
  GgufBuilder id = sentencepiece({"a", "b"});
  id.u32("tokenizer.ggml.eos_token_id", 2);
  CHECK(contains(error_of(id),
                 "\"tokenizer.ggml.eos_token_id\" is 2, outside the vocabulary of 2 tokens"));
  GgufBuilder negative = sentencepiece({"a", "b"});
  negative.number("tokenizer.ggml.bos_token_id", GgufValueType::kI32, int32_t{-1});
  CHECK(contains(error_of(negative), "tokenizer.ggml.bos_token_id"));
  GgufBuilder flag = sentencepiece({"a"});
  flag.u32("tokenizer.ggml.add_bos_token", 1);
  CHECK(contains(error_of(flag), "\"tokenizer.ggml.add_bos_token\" is not a bool"));
  GgufBuilder tokens;
  tokens.text("tokenizer.ggml.model", "llama").u32("tokenizer.ggml.tokens", 5);
  CHECK(contains(error_of(tokens), "\"tokenizer.ggml.tokens\" is not a list of strings"));
}

TEST_CASE("a padding or unknown id outside the vocabulary counts as absent") {
  GgufBuilder builder = sentencepiece({"a", "b", "c"});
  builder.u32("tokenizer.ggml.padding_token_id", 3)
      .u32("tokenizer.ggml.unknown_token_id", 0xffffffffu);
  const Vocabulary vocabulary = vocabulary_of(builder);
  CHECK(!vocabulary.pad);
  CHECK(!vocabulary.unk);
}
