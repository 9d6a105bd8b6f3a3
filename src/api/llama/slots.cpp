#include "api/llama/slots.h"

#include <fmt/format.h>

#include <charconv>

namespace puna::api::llama {

using base::ErrorCode;
using base::Json;
using base::Result;

Result<Exchange> slots(const Call& call) {
  const uint32_t n_running = call.model->host->status().n_running;
  const std::string* fail = call.http.query_value("fail_on_no_slot");
  if (fail && *fail == "1" && n_running >= call.model->n_texts)
    return HttpReply::json(error_body(Dialect::kLlama, 503, "All slots are busy."), 503);
  Json out = Json::array();
  for (uint32_t i = 0; i < call.model->n_texts; ++i) {
    Json slot = Json::object();
    slot.set("id", i).set("n_ctx", call.model->loaded().context()).set("speculative", false);
    out.push(slot.set("is_processing", i < n_running));
  }
  return HttpReply::json(out);
}

Result<Exchange> change_slot(const Call& call) {
  const std::string& id = call.http.path_values.front();
  uint32_t slot = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), slot);
  if (error != std::errc() || end != id.data() + id.size() || slot >= call.model->n_texts) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("There is no slot \"{}\"; they are 0 to {}.", id, call.model->n_texts - 1));
  }
  const std::string* action = call.http.query_value("action");
  if (!action || (*action != "save" && *action != "restore" && *action != "erase")) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The action is \"{}\", but has to be save, restore or erase.",
                                  action ? *action : ""));
  }
  return HttpReply::json(
      error_body(Dialect::kLlama, 501,
                 fmt::format("Slots cannot be changed ({}): what is known of texts belongs to none "
                             "of them.",
                             *action)),
      501);
}

}  // namespace puna::api::llama
