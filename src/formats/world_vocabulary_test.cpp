#include "formats/world_vocabulary.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "formats/caught_warnings.h"
#include "formats/folder.h"

using namespace puna;
using namespace puna::formats;

namespace {

HfTokenizer read(std::string_view text, const HfTokenizerFiles& files = {}) {
  auto out = read_world_vocabulary(text, files);
  REQUIRE_MESSAGE(out.has_value(), out.error().text());
  return *std::move(out);
}

std::string error_of(std::string_view text) {
  const auto out = read_world_vocabulary(text, {});
  REQUIRE(!out.has_value());
  return out.error().text();
}

// A model without weights, with what the folder says of its tokenizer.
ModelFile described(const std::map<std::string, std::string>& files, const char* architecture) {
  ModelFile file;
  file.metadata.emplace_back("general.architecture", std::string(architecture));
  const ModelFolder folder{
      "dir", [&](const std::string& path) -> base::Result<std::unique_ptr<io::ByteSource>> {
        const auto found = files.find(path.substr(4));
        if (found == files.end()) return base::fail(base::ErrorCode::kNotFound, "It is not there.");
        const auto bytes = std::as_bytes(std::span(found->second));
        return io::from_memory(path, std::vector<std::byte>(bytes.begin(), bytes.end()));
      }};
  const auto done = base::run_until(describe_model(folder, file), [] {});
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  return file;
}

}  // namespace

TEST_CASE("a vocabulary of RWKV World becomes tokens as GGUF has them") {
  const HfTokenizer out = read(
      "1 '\\x00' 1\n2 '\\n' 1\n3 '\\\\' 1\n4 \"'\" 1\n5 b'\\xff' 1\n6 '\\x80' 2\n7 ' a b' 4\r\n"
      "8 '\xC3\xA9' 2\n9 '\\u200b' 3\n10 '\\U0001f600' 4\n11 '\\n\\n' 2\n12 '\\'\"' 2\n13 '\"' "
      "1\n");
  const std::vector<std::string> wanted = {"<s>",
                                           "\\x00",
                                           "\\n",
                                           "\\\\",
                                           "'",
                                           "\\xff",
                                           "\\xc2\\x80",
                                           " a b",
                                           "\\xc3\\xa9",
                                           "\\xe2\\x80\\x8b",
                                           "\\xf0\\x9f\\x98\\x80",
                                           "\\n\\n",
                                           "\\'\"",
                                           "\""};
  CHECK(out.vocabulary.tokens == wanted);
  CHECK(out.vocabulary.model == "rwkv");
  CHECK(out.vocabulary.types[0] == tokenizer::TokenType::kControl);
  CHECK(out.vocabulary.types[1] == tokenizer::TokenType::kNormal);
  CHECK(out.vocabulary.bos == 0);
  CHECK(out.vocabulary.eos == 0);
  CHECK(out.vocabulary.eot == 11);
  CHECK(out.vocabulary.end_tokens == std::vector<int32_t>{0, 11});
  CHECK(!out.vocabulary.add_bos);
  CHECK(out.chat_template == "rwkv-world");
}

TEST_CASE("settings beside a vocabulary of RWKV World count, but for names that it has not") {
  HfTokenizerFiles files;
  files.tokenizer_config =
      R"({"add_bos_token": true, "bos_token": "<|end_of_text|>", "chat_template": "{{ x }}"})";
  files.generation_config = R"({"eos_token_id": [0, 1]})";
  CaughtWarnings warnings;
  const HfTokenizer out = read("1 'a' 1\n2 'b' 1\n", files);
  CHECK(out.vocabulary.add_bos);
  CHECK(out.vocabulary.bos == 0);
  CHECK(!out.vocabulary.eot);
  CHECK(out.vocabulary.end_tokens == std::vector<int32_t>{0, 1});
  CHECK(out.chat_template == "{{ x }}");
  CHECK(warnings.lines.empty());
}

TEST_CASE("a wrong line of a vocabulary of RWKV World is named") {
  const auto fails = [](std::string_view line, std::string_view wanted) {
    const std::string error = error_of(fmt::format("1 'a' 1\n{}\n3 'c' 1\n", line));
    CAPTURE(error);
    CHECK(error.starts_with("Line 2 of rwkv_vocab_v20230424.txt"));
    CHECK(error.find(wanted) != std::string::npos);
  };
  for (const char* line : {"", "2", "2 'b'", "x 'b' 1", "-2 'b' 1"})
    fails(line, "is not an id, a token and its length");
  for (const char* line : {"3 'b' 1", "1 'b' 1", "4294967296 'b' 1"})
    fails(line, line[0] == '4' ? "is not an id" : "should have the id 2");
  for (const char* line : {"2 b 1", "2 'b 1", "2 ' 1", "2 b 'b' 1", "2 '\\q' 1", "2 '\\' 1",
                           "2 '\\x1' 1", "2 '\\xg0' 1", "2 b'\\xFF' 1", "2 b'\\u0041' 1",
                           "2 '\\ud800' 3", "2 '\\U00110000' 4", "2 '\\x+1' 1"})
    fails(line, "has no text or bytes as Python writes them");
  for (const char* line : {"2 'b' 2", "2 'b' ", "2 'b' 99999999999"})
    fails(line, "has a token of 1 bytes");
  CHECK(error_of("").find("has no tokens") != std::string::npos);
}

TEST_CASE("folders of RWKV have their own vocabulary file, and what lacks is named") {
  const std::map<std::string, std::string> world = {{kWorldVocabulary, "1 'a' 1\n"}};
  const ModelFile file = described(world, "rwkv7");
  CHECK(file.vocabulary.tokens == std::vector<std::string>{"<s>", "a"});
  CHECK(file.get_string("tokenizer.ggml.model").value() == "rwkv");
  CHECK(file.get_string("tokenizer.chat_template").value() == "rwkv-world");
  CaughtWarnings warnings;
  const ModelFile none = described({}, "rwkv6");
  REQUIRE(none.vocabulary_error.has_value());
  CHECK(none.vocabulary_error->message ==
        "There is no rwkv_vocab_v20230424.txt and no tokenizer.json in the folder.");
  CHECK(described(world, "llama").vocabulary_error->message ==
        "There is no tokenizer.json in the folder.");
}
