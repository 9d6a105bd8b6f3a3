#include "api/ollama/version.h"

#include <utility>

namespace puna::api::ollama {

namespace {

// Clients compare it with versions of Ollama to know what they may ask, so it is that of the
// interface which these endpoints follow.
constexpr const char* kInterface = "0.32.0";

}  // namespace

base::Result<Exchange> root(const Call&) {
  return HttpReply{200, "text/plain; charset=utf-8", "Ollama is running"};
}

base::Result<Exchange> version(const Call&) {
  return HttpReply::json(base::Json::object().set("version", kInterface));
}

base::Result<Exchange> status(const Call&) {
  base::Json cloud = base::Json::object().set("disabled", true).set("source", "config");
  return HttpReply::json(base::Json::object().set("cloud", std::move(cloud)));
}

}  // namespace puna::api::ollama
