#include "api/llama/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/llama/saved_slot.h"
#include "api/llama/settings.h"
#include "base/printable.h"

namespace puna::api::llama {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

// Shorter than names of files may be.
constexpr size_t kLongestName = 200;

constexpr Field kSlotsFields[] = {
    {"filename", Kind::kText,
     "Of save and restore: the file in the folder of --slot-save-path, a name of at most 200 bytes "
     "without slashes."},
    {"model", Kind::kText, "A name of the model."},
};

HttpReply refusal(int status, std::string_view message) {
  return HttpReply::json(error_body(Dialect::kLlama, status, message), status);
}

void add_task(Json& out, const SlotTable::Task& task, bool goes_on) {
  out.set("id_task", task.id).set("params", settings_json(task.request, task.stream));
  out.set("n_prompt_tokens", task.n_prompt).set("n_prompt_tokens_processed", task.n_evaluated);
  out.set("n_prompt_tokens_cache", task.n_cached);
  Json next = Json::object();
  next.set("has_next_token", goes_on).set("has_new_line", task.has_new_line);
  // What has ended has nothing left to write.
  const auto most = goes_on ? task.request.max_tokens : std::nullopt;
  next.set("n_remain", most ? Json(*most - std::min(*most, task.n_decoded)) : Json(-1));
  next.set("n_decoded", goes_on ? task.n_decoded : 0);
  out.set("next_token", Json::array().push(std::move(next)));
}

Result<std::string> plain_name(const Body& body) {
  const auto name = body.text("filename");
  if (!name) return refuse_field("filename", Json(), "a name");
  const bool plain = !name->empty() && name->size() <= kLongestName && *name != "." &&
                     *name != ".." && name->find_first_of("/\\") == std::string::npos &&
                     base::printable(*name) == *name;
  if (plain) return *name;
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("The field \"filename\" has to be a plain name: 1 to {} bytes, without slashes "
                  "and control characters.",
                  kLongestName));
}

}  // namespace

std::span<const Field> change_slot_fields() { return kSlotsFields; }

Result<Exchange> slots(const Call& call) {
  const std::vector<SlotTable::Look> looks = call.model->slots->look();
  const std::string* fail = call.http.query_value("fail_on_no_slot");
  if (fail && *fail == "1" && std::ranges::all_of(looks, &SlotTable::Look::busy))
    return refusal(503, "All slots are busy.");
  Json out = Json::array();
  for (size_t i = 0; i < looks.size(); ++i) {
    Json slot = Json::object();
    slot.set("id", static_cast<uint64_t>(i)).set("n_ctx", call.model->loaded().context());
    slot.set("speculative", false).set("is_processing", looks[i].busy);
    if (looks[i].task.id > 0) add_task(slot, looks[i].task, looks[i].writes);
    out.push(std::move(slot));
  }
  return HttpReply::json(out);
}

Result<Exchange> change_slot(const Call& call) {
  SlotTable& table = *call.model->slots;
  const std::string& id = call.http.path_values.front();
  uint32_t slot = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), slot);
  if (error != std::errc() || end != id.data() + id.size() || slot >= table.n_slots()) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("There is no slot \"{}\"; they are 0 to {}.", id, table.n_slots() - 1));
  }
  const std::string* action = call.http.query_value("action");
  if (!action || (*action != "save" && *action != "restore" && *action != "erase")) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The action is \"{}\", but has to be save, restore or erase.",
                                  action ? *action : ""));
  }
  SavedSlot saved{.slot = nullptr,
                  .folder = call.model->slot_folder,
                  .filename = "",
                  .hosts = call.model->hosts};
  if (*action != "erase") {
    if (saved.folder.empty())
      return refusal(501, "No texts are saved here; --slot-save-path says where to.");
    PUNA_TRY(const Body body, Body::read(call.body, {kSlotsFields}));
    PUNA_TRY(saved.filename, plain_name(body));
  } else if (!call.body.is_null()) {
    PUNA_TRY(Body::read(call.body, {kSlotsFields}));
  }
  saved.slot = table.try_take(slot);
  if (!saved.slot)
    return refusal(503, fmt::format("The slot {} is busy; try again when its text has ended.", id));
  if (*action == "erase") return erase_job(saved.slot);
  return *action == "save" ? save_job(saved) : restore_job(saved);
}

}  // namespace puna::api::llama
