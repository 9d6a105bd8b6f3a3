#include "api/openai/embeddings.h"

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;

TEST_CASE("embeddings are asked for by texts or token ids") {
  const service::LoadedModel model = service::test::scripted_model();
  const auto read = [&](std::string_view text) {
    return openai::read_embeddings(*Json::parse(text), model);
  };
  using Tokens = std::vector<std::vector<int32_t>>;
  CHECK(read(R"({"input": "a"})")->inputs.tokens == Tokens{{8}});
  CHECK(read(R"({"input": ["a", "aa"]})")->inputs.n_tokens == 3);
  CHECK(read(R"({"input": [1, 2]})")->inputs.tokens == Tokens{{1, 2}});
  CHECK(read(R"({"input": [[1], [2]]})")->inputs.tokens == Tokens{{1}, {2}});
  CHECK(read(R"({"input": "a", "encoding_format": "base64"})")->encoding == Encoding::kBase64);
  CHECK(read(R"({"input": "a", "encoding_format": "hex"})").error().message ==
        "The field \"encoding_format\" is \"hex\", but has to be float or base64.");
  CHECK_FALSE(read(R"({"input": []})").has_value());
  CHECK_FALSE(read(R"({"input": {"a": 1}})").has_value());
  CHECK(read(R"({"input": "a", "dimensions": 5})")->dimensions == 5);
  CHECK_FALSE(read(R"({"input": "a", "dimensions": 0})").has_value());
}

TEST_CASE("embeddings come as numbers or base64, of length 1 unless asked otherwise") {
  openai::Embeddings asked{.inputs = {.tokens = {{1, 2}}, .n_tokens = 2}};
  CHECK(openai::embeddings_json(asked, {{3, -4}}, "m").dump() ==
        R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":)"
        R"([0.6000000238418579,-0.800000011920929]}],"model":"m",)"
        R"("usage":{"prompt_tokens":2,"total_tokens":2}})");
  asked.dimensions = 2;  // what is cut off does not count for the length
  CHECK(at(openai::embeddings_json(asked, {{3, -4, 12}}, "m"), "data", 0, "embedding").dump() ==
        "[0.6000000238418579,-0.800000011920929]");
  asked.norm = -1;
  asked.encoding = Encoding::kBase64;
  CHECK(at(openai::embeddings_json(asked, {{1, -2}}, "m"), "data", 0, "embedding") ==
        Json("AACAPwAAAMA="));
  CHECK(base64("") == "");
  CHECK(base64("a") == "YQ==");
  CHECK(base64("abc") == "YWJj");
  std::vector<float> row = {1, -4}, zeros = {0, 0}, thirds = {1, 1};
  normalize(row, 0);
  CHECK(row == std::vector<float>{8190, -32760});
  normalize(zeros, 2);
  CHECK(zeros == std::vector<float>{0, 0});
  normalize(thirds, 1);
  CHECK(thirds == std::vector<float>{0.5f, 0.5f});
}

TEST_CASE("a model that was loaded to give text gives no embeddings") {
  Served served;
  const auto exchange = served.ask(openai::embeddings, R"({"input": [1]})");
  REQUIRE(exchange.has_value());
  const HttpReply& reply = std::get<HttpReply>(*exchange);
  CHECK(reply.status == 501);
  CHECK(at(body_of(reply), "error", "type") == Json("not_supported_error"));
  CHECK_FALSE(served.ask(openai::embeddings, R"({"input": [1000]})").has_value());
}
