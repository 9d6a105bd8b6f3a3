#include "api/ollama/not_here.h"

#include <fmt/format.h>

namespace puna::api::ollama {

base::Result<Exchange> not_here(const Call& call) {
  constexpr int kNotImplemented = 501;
  return HttpReply::json(error_body(Dialect::kOllama, kNotImplemented,
                                    fmt::format("{} {} is not supported by this server",
                                                call.http.method, call.http.path)),
                         kNotImplemented);
}

}  // namespace puna::api::ollama
