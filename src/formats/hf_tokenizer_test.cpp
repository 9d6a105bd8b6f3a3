#include "formats/hf_tokenizer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "formats/gguf_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace puna::formats {
namespace {

using base::ErrorCode;
using base::Json;
using tokenizer::StreamDecoder;
using tokenizer::Tokenizer;
using tokenizer::Vocabulary;
using Ids = std::vector<int32_t>;

constexpr const char* kFixtures[] = {"hf_byte_level.json", "hf_sentencepiece.json",
                                     "hf_unigram.json", "hf_word_piece.json"};

// A tokenizer.json made by tools/make_tokenizer_fixtures.py, with texts and the library's ids.
struct Fixture {
  explicit Fixture(const char* name) {
    std::ifstream file(std::string("tests/fixtures/tokenizer/") + name);
    REQUIRE_MESSAGE(file, "tests run in the root of the repository");
    std::stringstream stream;
    stream << file.rdbuf();
    auto parsed = Json::parse(stream.str());
    REQUIRE(parsed.has_value());
    json = *std::move(parsed);
    tokenizer_text = json.find("tokenizer")->dump();
    config_text = json.find("config")->dump();
  }
  Vocabulary vocabulary() const {
    auto read = read_hf_tokenizer(files());
    REQUIRE_MESSAGE(read.has_value(), read.error().text());
    return std::move(read->vocabulary);
  }
  HfTokenizerFiles files() const {
    HfTokenizerFiles out;
    out.tokenizer = tokenizer_text;
    out.tokenizer_config = config_text;
    return out;
  }
  Json json;
  std::string tokenizer_text, config_text;
};

Ids ids_of(const Json& list) {
  Ids ids;
  for (const Json& id : list.items()) ids.push_back(static_cast<int32_t>(id.integer()));
  return ids;
}

std::unique_ptr<Tokenizer> make(Vocabulary vocabulary) {
  auto made = Tokenizer::create(std::move(vocabulary));
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *std::move(made);
}

void check_ids(const Fixture& fixture, const Tokenizer& made) {
  const auto& texts = fixture.json.find("texts")->items();
  const auto& expected = fixture.json.find("ids")->items();
  REQUIRE(texts.size() == expected.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i].string());
    CHECK(made.encode(texts[i].string(), {.add_special = false, .parse_special = true}) ==
          ids_of(expected[i]));
  }
  CHECK(made.encode("the end") == ids_of(*fixture.json.find("framed")));
}

// Through the keys of a GGUF file and back.
Vocabulary through_gguf(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string, Value>> metadata;
  put_vocabulary(vocabulary, "{{ messages }}", metadata);
  metadata.emplace_back("tokenizer.ggml.tokens", vocabulary.tokens);
  if (!vocabulary.merges.empty()) metadata.emplace_back("tokenizer.ggml.merges", vocabulary.merges);
  if (!vocabulary.scores.empty())
    metadata.emplace_back("tokenizer.ggml.scores",
                          std::vector<double>(vocabulary.scores.begin(), vocabulary.scores.end()));
  std::vector<int64_t> types;
  for (const auto type : vocabulary.types) types.push_back(static_cast<int64_t>(type));
  metadata.emplace_back("tokenizer.ggml.token_type", std::move(types));
  auto back = take_vocabulary(metadata);
  REQUIRE_MESSAGE(back.has_value(), back.error().text());
  return *std::move(back);
}

TEST_CASE("a tokenizer.json of each kind gives the ids of Hugging Face's library") {
  for (const char* name : kFixtures) {
    CAPTURE(name);
    const Fixture fixture(name);
    check_ids(fixture, *make(fixture.vocabulary()));
  }
}

TEST_CASE("the ids are the same after the vocabulary went through the keys of a GGUF file") {
  for (const char* name : kFixtures) {
    CAPTURE(name);
    const Fixture fixture(name);
    const Vocabulary vocabulary = fixture.vocabulary();
    const Vocabulary back = through_gguf(vocabulary);
    CHECK(back.end_tokens == vocabulary.end_tokens);
    check_ids(fixture, *make(back));
  }
}

TEST_CASE("what is decoded encodes to the same ids, and a stream never cuts a character") {
  for (const char* name : kFixtures) {
    CAPTURE(name);
    const Fixture fixture(name);
    const auto made = make(fixture.vocabulary());
    for (const Json& text : fixture.json.find("texts")->items()) {
      CAPTURE(text.string());
      const Ids ids = made->encode(text.string(), {.add_special = false, .parse_special = false});
      StreamDecoder stream(*made, /*special=*/true);
      std::string streamed;
      for (const int32_t id : ids) {
        const std::string part = stream.push(id);
        CHECK(Json(part).dump().find("\uFFFD") == std::string::npos);
        streamed += part;
      }
      streamed += stream.finish();
      CHECK(streamed == made->decode(ids, /*special=*/true));
    }
    const std::string plain = "The end of the beginning, there and then.";
    const Ids ids = made->encode(plain, {.add_special = false});
    CHECK(made->encode(made->decode(ids), {.add_special = false}) == ids);
  }
}

// The smallest byte-level file, with `changes` put into it.
Json small_file() {
  Json vocab = Json::object();
  vocab.set("a", 0).set("b", 1).set("ab", 2).set("<s>", 3);
  Json model = Json::object();
  model.set("type", "BPE").set("vocab", vocab).set("merges", Json::array().push("a b"));
  Json step = Json::object();
  step.set("type", "ByteLevel").set("add_prefix_space", false);
  Json added = Json::object();
  added.set("id", 3).set("content", "<s>").set("special", true);
  Json file = Json::object();
  file.set("added_tokens", Json::array().push(added)).set("normalizer", nullptr);
  file.set("pre_tokenizer", step).set("post_processor", nullptr).set("model", model);
  return file;
}

base::Result<HfTokenizer> read(const Json& file, std::string_view config = {}) {
  const std::string text = file.dump();
  HfTokenizerFiles files;
  files.tokenizer = text;
  files.tokenizer_config = config;
  return read_hf_tokenizer(files);
}

void check_refused(const Json& file, ErrorCode code, std::string_view message) {
  const auto got = read(file);
  REQUIRE(!got.has_value());
  CHECK(got.error().code == code);
  CHECK(got.error().message == message);
}

Json with_part(const char* key, const char* value) {
  Json file = small_file();
  file.set(key, *Json::parse(value));
  return file;
}

Json with_model(const char* key, const char* value) {
  Json file = small_file();
  Json model = *file.find("model");
  model.set(key, *Json::parse(value));
  file.set("model", model);
  return file;
}

TEST_CASE("the small file is read, its rule is recognised") {
  const auto got = read(small_file(), R"({"bos_token":"<s>","add_bos_token":true,
      "chat_template":[{"name":"tools","template":"x"},{"name":"default","template":"y"}]})");
  REQUIRE_MESSAGE(got.has_value(), got.error().text());
  CHECK(got->vocabulary.model == "gpt2");
  CHECK(got->vocabulary.pre == "gpt-2");
  CHECK(got->vocabulary.bos == 3);
  CHECK(got->vocabulary.add_bos);
  CHECK(got->chat_template == "y");
  CHECK(got->vocabulary.huggingface_json.empty());
}

TEST_CASE("what is not known is refused by its name") {
  check_refused(with_part("normalizer", R"({"type":"Odd"})"), ErrorCode::kUnsupported,
                "The tokenizer.json has the normalizer \"Odd\", which is not supported.");
  check_refused(with_part("pre_tokenizer", R"({"type":"Odd"})"), ErrorCode::kUnsupported,
                "The tokenizer.json has the pre-tokenizer \"Odd\", which is not supported.");
  check_refused(with_part("decoder", R"({"type":"Odd"})"), ErrorCode::kUnsupported,
                "The tokenizer.json has the decoder \"Odd\", which is not supported.");
  check_refused(with_part("post_processor", R"({"type":"Odd"})"), ErrorCode::kUnsupported,
                "The tokenizer.json has the post_processor \"Odd\", which is not supported.");
  check_refused(with_part("surprise", "1"), ErrorCode::kUnsupported,
                "The tokenizer.json has the part \"surprise\", which is not known.");
  check_refused(
      with_model("type", R"("Odd")"), ErrorCode::kUnsupported,
      "The tokenizer.json has a model of type \"Odd\", which is not supported (BPE, Unigram, "
      "WordPiece and WordLevel are).");
  check_refused(with_model("dropout", "0.1"), ErrorCode::kUnsupported,
                "The tokenizer.json has the setting dropout = 0.1 in its model, which is not "
                "supported.");
  const auto odd = read(with_part(
      "pre_tokenizer",
      R"({"type":"Split","pattern":{"Regex":"a\\Kb"},"behavior":"Removed","invert":false})"));
  REQUIRE_MESSAGE(odd.has_value(), odd.error().text());
  const auto made = Tokenizer::create(odd->vocabulary);
  REQUIRE(!made.has_value());
  CHECK(made.error().code == ErrorCode::kUnsupported);
  CHECK(made.error().message ==
        "The expression \"a\\Kb\" has the escape \\K at byte 3, which is not supported.");
}

TEST_CASE("files that contradict themselves are refused") {
  check_refused(with_model("vocab", R"({"a":0,"b":0})"), ErrorCode::kCorrupt,
                "The tokenizer.json has the id 0 for \"a\" and for \"b\".");
  check_refused(
      with_model("vocab", R"({"a":0,"b":4000000000})"), ErrorCode::kCorrupt,
      "The tokenizer.json has the id 4000000000 for the token \"b\", but 2 tokens in all.");
  check_refused(with_model("vocab", R"({"a":-1})"), ErrorCode::kCorrupt,
                "The tokenizer.json has the id -1 for the token \"a\", but 1 tokens in all.");
  check_refused(with_model("vocab", R"({"a":"0"})"), ErrorCode::kCorrupt,
                "The tokenizer.json has the id of token \"a\" as a string.");
  check_refused(with_model("unk_token", R"("<unk>")"), ErrorCode::kCorrupt,
                "The tokenizer.json has no token \"<unk>\", which its unk_token names.");
  check_refused(with_model("merges", R"([["a"]])"), ErrorCode::kCorrupt,
                "The tokenizer.json has a merge 0 that is no pair of pieces.");
  check_refused(
      with_part("post_processor",
                R"({"type":"BertProcessing","cls":["[CLS]",77],"sep":["[SEP]",1]})"),
      ErrorCode::kCorrupt,
      "The tokenizer.json has the token 77 in its post_processor, outside its vocabulary of 4.");
  CHECK(!read_hf_tokenizer({}).has_value());
}

TEST_CASE("an expression without a name is used as it is, and carried in the file") {
  Json file = with_part("pre_tokenizer",
                        R"({"type":"Sequence","pretokenizers":[
          {"type":"Split","pattern":{"Regex":"[ab]{2}"},"behavior":"Isolated","invert":false},
          {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})");
  const auto got = read(file);
  REQUIRE_MESSAGE(got.has_value(), got.error().text());
  CHECK(got->vocabulary.pre == tokenizer::kCustomPre);
  CHECK(!got->vocabulary.huggingface_json.empty());
  const Vocabulary back = through_gguf(got->vocabulary);
  CHECK(back.splits == std::vector<std::string>{"[ab]{2}"});
  // Without a cut after "ba" the merge would join "ab".
  CHECK(make(back)->encode("bab") == Ids{1, 0, 1});
}

TEST_CASE("random pipelines of every component give the ids of Hugging Face's library") {
  std::ifstream file("tests/fixtures/tokenizer/pipelines.json");
  REQUIRE_MESSAGE(file, "tests run in the root of the repository");
  std::stringstream stream;
  stream << file.rdbuf();
  const auto pipelines = Json::parse(stream.str());
  REQUIRE(pipelines.has_value());
  REQUIRE(pipelines->items().size() > 40);
  for (const Json& pipeline : pipelines->items()) {
    const auto got = read(*pipeline.find("tokenizer"));
    CAPTURE(pipeline.find("tokenizer")->dump());
    REQUIRE_MESSAGE(got.has_value(), got.error().text());
    const auto here = make(got->vocabulary);
    const auto back = make(through_gguf(got->vocabulary));
    const auto& texts = pipeline.find("texts")->items();
    for (size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(texts[i].string());
      const Ids plain = ids_of(pipeline.find("ids")->items()[i]);
      const Ids framed = ids_of(pipeline.find("framed")->items()[i]);
      const auto encode = [&](const Tokenizer& made) {
        return made.encode(texts[i].string(), {.add_special = false, .parse_special = true});
      };
      CHECK(encode(*here) == plain);
      CHECK(encode(*back) == plain);
      CHECK(here->encode(texts[i].string()) == framed);
      StreamDecoder stream_decoder(*here, /*special=*/true);
      std::string streamed;
      for (const int32_t id : plain) streamed += stream_decoder.push(id);
      CHECK(streamed + stream_decoder.finish() == here->decode(plain, /*special=*/true));
    }
  }
}

TEST_CASE(
    "an added token keeps the id that the vocabulary has for it, a new one gets the next id") {
  const auto got =
      read(with_part("added_tokens", R"([{"id":9,"content":"a"},{"id":1,"content":"c"}])"));
  REQUIRE_MESSAGE(got.has_value(), got.error().text());
  const auto made = make(got->vocabulary);
  CHECK(made->encode("abc") == Ids{0, 1, 4});
  CHECK(got->vocabulary.tokens[4] == "c");
}

TEST_CASE("a dropout of 0 is none, and a merge that is listed twice counts where it stands last") {
  for (const char* none : {"0.0", "0", "null"}) {
    const auto got = read(with_model("dropout", none));
    REQUIRE_MESSAGE(got.has_value(), got.error().text());
    CHECK(make(got->vocabulary)->encode("ab") == Ids{2});
  }
  const auto twice = read(with_model("merges", R"(["a b", "a b"])"));
  REQUIRE_MESSAGE(twice.has_value(), twice.error().text());
  CHECK(make(twice->vocabulary)->encode("ab") == Ids{2});
}

TEST_CASE("an added token takes the spaces before it where its lstrip says so") {
  const auto got =
      read(with_part("added_tokens", R"([{"id":4,"content":"<x>","lstrip":true,"special":true}])"));
  REQUIRE_MESSAGE(got.has_value(), got.error().text());
  CHECK(make(got->vocabulary)->encode("a  <x>b") == Ids{0, 4, 1});
}

TEST_CASE("a bos_token that no vocabulary has counts as absent") {
  const auto got = read(small_file(), R"({"bos_token":"<nowhere>"})");
  REQUIRE_MESSAGE(got.has_value(), got.error().text());
  CHECK(!got->vocabulary.bos.has_value());
}

TEST_CASE("a file cut anywhere is refused, not crashed on") {
  const std::string whole = small_file().dump();
  for (size_t n = 1; n < whole.size(); ++n) {
    HfTokenizerFiles files;
    files.tokenizer = std::string_view(whole).substr(0, n);
    const auto got = read_hf_tokenizer(files);
    REQUIRE(!got.has_value());
    CHECK(got.error().code == ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace puna::formats
