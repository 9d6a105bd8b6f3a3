#include "api/llama/lora.h"

#include <fmt/format.h>

namespace puna::api::llama {

using base::ErrorCode;
using base::Json;
using base::Result;

Result<Exchange> lora_adapters(const Call&) { return HttpReply::json(Json::array()); }

Result<Exchange> change_lora_adapters(const Call& call) {
  if (!call.body.is_array()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The body is of type {}, but has to be a list of adapters.",
                                  call.body.type_name()));
  }
  if (call.body.items().empty()) return HttpReply::json(Json::object().set("success", true));
  const Json* id = call.body.items().front().find("id");
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("There is no adapter {}: adapters (LoRA) are not supported yet.",
                                id ? id->dump() : call.body.items().front().dump()));
}

}  // namespace puna::api::llama
