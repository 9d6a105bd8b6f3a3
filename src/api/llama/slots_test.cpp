#include "api/llama/slots.h"

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;

namespace {

base::Result<Exchange> change(Served& served, std::string id, std::string action) {
  HttpRequest http;
  http.path_values = {std::move(id)};
  http.query = {{"action", std::move(action)}};
  const Json none;
  return llama::change_slot({http, none, served.model.get(), served.source});
}

}  // namespace

TEST_CASE("slots tell whether they are busy") {
  Served served;
  CHECK(body_of(served.ask(llama::slots, "")).dump() ==
        R"([{"id":0,"n_ctx":256,"speculative":false,"is_processing":false}])");
}

TEST_CASE("slots cannot be changed") {
  Served served;
  CHECK(std::get<HttpReply>(*change(served, "0", "save")).status == 501);
  CHECK(change(served, "1", "save").error().code == ErrorCode::kInvalidArgument);
  CHECK(change(served, "x", "save").error().code == ErrorCode::kInvalidArgument);
  CHECK(change(served, "0", "drop").error().code == ErrorCode::kInvalidArgument);
}
