#include "api/llama/tokens.h"

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

TEST_CASE("texts become tokens and tokens texts") {
  Served served(service::test::scripted_model());
  const auto ask = [&](Endpoint endpoint, const char* body) {
    return body_of(served.ask(endpoint, body)).dump();
  };
  CHECK(ask(llama::tokenize, R"({"content": "aa<|go|>"})") == R"({"tokens":[8,8,0]})");
  CHECK(ask(llama::tokenize, R"({"content": "a<|go|>", "parse_special": false})") ==
        R"({"tokens":[8]})");
  CHECK(ask(llama::tokenize, R"({"content": "a", "with_pieces": true})") ==
        R"({"tokens":[{"id":8,"piece":"a"}]})");
  CHECK(ask(llama::detokenize, R"({"tokens": [8, 0]})") == R"({"content":"a<|go|>"})");
  CHECK(served.ask(llama::detokenize, R"({"tokens": [64]})").error().code ==
        base::ErrorCode::kInvalidArgument);
  CHECK_FALSE(served.ask(llama::tokenize, "{}").has_value());
}

TEST_CASE("tokens are refused where the model has no vocabulary") {
  Served served;
  CHECK(served.ask(llama::tokenize, R"({"content": "a"})").error().code ==
        base::ErrorCode::kUnsupported);
  CHECK(served.ask(llama::detokenize, R"({"tokens": [1]})").error().code ==
        base::ErrorCode::kUnsupported);
}
