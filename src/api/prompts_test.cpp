#include "api/prompts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "api/answer_fields.h"
#include "api/media.h"
#include "service/testing/scripted_model.h"

using namespace puna;
using namespace puna::api;
using base::ErrorCode;
using base::Json;

TEST_CASE("a prompt is a text, ids or both, and several are a list of such") {
  const service::LoadedModel model = service::test::scripted_model();
  const auto read = [&](std::string_view text) {
    const Json json = *Json::parse(text);
    return read_prompts("prompt", &json, model, 3);
  };
  CHECK(read(R"("aa")")->one);
  CHECK(read(R"("aa")")->list[0].text == "aa");
  CHECK(read(R"({"prompt_string": "aa"})")->list[0].text == "aa");
  const auto content = read(R"({"content": [{"type": "text", "text": "a "},
                                            {"type": "text", "text": "a"}]})");
  REQUIRE(content.has_value());
  CHECK(content->one);
  CHECK(content->list[0].text == "a a");
  CHECK(read("[1, 2]")->list[0].tokens == std::vector<int32_t>{1, 2});
  CHECK(read(R"(["aa", 2, "a"])")->list[0].tokens == std::vector<int32_t>{8, 8, 2, 8});
  const auto several = read(R"(["a", [1, "a"], {"prompt_string": "", "multimodal_data": []}])");
  REQUIRE_MESSAGE(several.has_value(), several.error().text());
  CHECK_FALSE(several->one);
  REQUIRE(several->list.size() == 3);
  CHECK(several->list[1].tokens == std::vector<int32_t>{1, 8});
  CHECK(several->list[2].text == "");
  CHECK(read("[[1]]")->list.size() == 1);
  CHECK_FALSE(read("[[1]]")->one);
  for (const char* wrong :
       {"[]", "[[]]", "1", "true", "[1.5]", "[-1]", "[64]", "[[64]]", R"([1, true])",
        R"(["a", null])", R"({"content": "a"})", R"({"content": []})",
        R"({"content": [{"type": "image_url", "image_url": {"url": "a"}}]})",
        R"({"content": [{"type": "text"}]})", R"(["a", {"content": [1]}])", R"({})",
        R"({"prompt_string": 1})", R"(["a", "a", "a", "a"])"}) {
    const auto prompts = read(wrong);
    REQUIRE_MESSAGE(!prompts.has_value(), wrong);
    CHECK(prompts.error().code == ErrorCode::kInvalidArgument);
    CHECK_MESSAGE(prompts.error().text().find("\"prompt\"") != std::string::npos,
                  prompts.error().text());
  }
  const auto seen = read(fmt::format(
      R"({{"prompt_string": "a{0}aa{0}", "multimodal_data": ["AA==", "UklGRgAAAABXQVZF"]}})",
      media_marker()));
  REQUIRE_MESSAGE(seen.has_value(), seen.error().text());
  const Prompt& prompt = seen->list.front();
  CHECK(prompt.text == "aaa");
  REQUIRE(prompt.media.size() == 2);
  CHECK(prompt.media[0].at == 1);
  CHECK(prompt.media[0].file->sense == models::Sense::kPictures);
  CHECK(prompt.media[1].at == 3);
  CHECK(prompt.media[1].file->sense == models::Sense::kSounds);
  CHECK(tokens_of(prompt, model).error().code == ErrorCode::kUnsupported);
  const auto missing =
      read(fmt::format(R"({{"prompt_string": "a{}", "multimodal_data": []}})", media_marker()));
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message.starts_with(
      "The field \"multimodal_data\" has 0 files, but \"prompt_string\" has 1 markers "));
  const auto unmarked = read(R"({"prompt_string": "a<__media__>", "multimodal_data": ["AA=="]})");
  REQUIRE(!unmarked.has_value());
  CHECK(unmarked.error().message.starts_with(
      "The field \"multimodal_data\" has 1 files, but \"prompt_string\" has 0 markers "));
  CHECK_FALSE(read_prompts("prompt", nullptr, model, 3).has_value());
}

TEST_CASE("seeds of further answers are made of the one that was given") {
  service::Request first, second;
  first.prompt = "a";
  second.prompt = "b";
  first.sampling.seed = second.sampling.seed = 5;
  const auto requests = repeated({first, second}, 3);
  REQUIRE(requests.size() == 6);
  CHECK(requests[2].prompt == "a");
  CHECK(requests[3].prompt == "b");
  CHECK(requests[0].sampling.seed == 5);
  CHECK(requests[1].sampling.seed != 5);
  CHECK(requests[1].sampling.seed != requests[2].sampling.seed);
  for (size_t i = 0; i < 3; ++i) CHECK(requests[i].sampling.seed == requests[i + 3].sampling.seed);
}
