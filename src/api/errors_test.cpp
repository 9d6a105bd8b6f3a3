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
