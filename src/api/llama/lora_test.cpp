#include "api/llama/lora.h"

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;

TEST_CASE("there are no adapters, and none can be chosen") {
  Served served;
  CHECK(body_of(served.ask(llama::lora_adapters, "")).dump() == "[]");
  const auto change = [&](std::string_view body) {
    return served.ask(llama::change_lora_adapters, body);
  };
  CHECK(body_of(change("[]")).dump() == R"({"success":true})");
  const auto one = change(R"([{"id": 3, "scale": 0.5}])");
  REQUIRE_FALSE(one.has_value());
  CHECK(one.error().code == ErrorCode::kUnsupported);
  CHECK(one.error().message.find("adapter 3") != std::string::npos);
  for (const char* body : {"{}", R"("x")", ""}) {
    REQUIRE_FALSE(change(body).has_value());
    CHECK(change(body).error().code == ErrorCode::kInvalidArgument);
  }
  // What is in a list may be anything.
  CHECK(change("[1]").error().code == ErrorCode::kUnsupported);
}
