#include "api/errors.h"

#include <doctest/doctest.h>

using namespace puna;
using namespace puna::api;

TEST_CASE("a prompt beyond the context has an error of its own, where dialects have one") {
  base::Error error{base::ErrorCode::kInvalidArgument, "Too long.", {}};
  CHECK(error_body(Dialect::kLlama, error).dump() ==
        R"({"error":{"code":400,"message":"Too long.","type":"invalid_request_error"}})");
  error.excess = base::Excess{.n = 70, .n_room = 64};
  CHECK(error_body(Dialect::kLlama, error).dump() ==
        R"({"error":{"code":400,"message":"Too long.","type":"exceed_context_size_error",)"
        R"("n_prompt_tokens":70,"n_ctx":64}})");
  CHECK(error_body(Dialect::kOpenAi, error).dump() ==
        R"({"error":{"message":"Too long.","type":"exceed_context_size_error","param":null,)"
        R"("code":400,"n_prompt_tokens":70,"n_ctx":64}})");
  CHECK(error_body(Dialect::kAnthropic, error).dump() ==
        R"({"type":"error","error":{"type":"invalid_request_error","message":"Too long."}})");
  CHECK(error_body(Dialect::kOllama, error).dump() == R"({"error":"Too long."})");
}

TEST_CASE("what a server was given to work with is no fault of a request") {
  CHECK(status_of(base::ErrorCode::kSetUp) == 500);
}

TEST_CASE("what the server has ended is no fault of a request, and may be tried again") {
  const base::Error error{base::ErrorCode::kCancelled, "The server ends.", {}};
  CHECK(status_of(error.code) == 503);
  CHECK(error_body(Dialect::kOpenAi, error).dump() ==
        R"({"error":{"message":"The server ends.","type":"unavailable_error","param":null,)"
        R"("code":503}})");
  CHECK(error_body(Dialect::kAnthropic, error).dump() ==
        R"({"type":"error","error":{"type":"overloaded_error","message":"The server ends."}})");
}

TEST_CASE("a model that there is not is told in the words of a dialect, where it has some") {
  const base::Error error{base::ErrorCode::kNotFound, "Did you mean another?", {}};
  CHECK(no_such_model(Dialect::kOpenAi, "x", error).text() == "Did you mean another?");
  const base::Error said = no_such_model(Dialect::kOllama, "x", error);
  CHECK(said.code == base::ErrorCode::kNotFound);
  CHECK(said.text() == "model \"x\" not found, try pulling it first");
}

TEST_CASE("paths of files are told by their last part, and addresses whole") {
  CHECK(without_paths("Cannot open /home/me/a.gguf: it is /") == "Cannot open a.gguf: it is /");
  CHECK(without_paths("\"/a/b/\", a/b, 1/2") == "\"b/\", a/b, 1/2");
  CHECK(without_paths("The request to https://host:5000/v2/a/latest failed, /a/b.") ==
        "The request to https://host:5000/v2/a/latest failed, b.");
}
