#include "manager/child_words.h"

#include <algorithm>
#include <array>

namespace puna::manager {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

struct EntryText {
  const char* name;
  std::string Entry::* value;
};
constexpr EntryText kEntryTexts[] = {
    {"id", &Entry::id},
    {"path", &Entry::path},
    {"stored_as", &Entry::stored_as},
    {"file_name", &Entry::file_name},
    {"digest", &Entry::digest},
    {"source", &Entry::source},
};

template <class T>
struct Count {
  const char* name;
  T service::HostStatus::* value;
};
constexpr Count<uint32_t> kSmall[] = {
    {"waiting", &service::HostStatus::n_waiting},
    {"running", &service::HostStatus::n_running},
    {"held", &service::HostStatus::n_held},
    {"jobs", &service::HostStatus::n_jobs},
    {"pages", &service::HostStatus::n_pages},
    {"pages_in_use", &service::HostStatus::n_pages_in_use},
    {"pages_free", &service::HostStatus::n_pages_free},
    {"page_tokens", &service::HostStatus::page_tokens},
};
constexpr Count<uint64_t> kLarge[] = {
    {"prompt_tokens", &service::HostStatus::n_prompt_tokens},
    {"cached_tokens", &service::HostStatus::n_cached_tokens},
    {"generated_tokens", &service::HostStatus::n_generated_tokens},
    {"media_encoded", &service::HostStatus::n_media_encoded},
    {"media_found", &service::HostStatus::n_media_found},
};

Json list_of(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& each : texts) out.push(each);
  return out;
}

std::vector<std::string> texts_of(const Json* list) {
  std::vector<std::string> out;
  if (!list || !list->is_array()) return out;
  for (const Json& each : list->items()) {
    if (each.is_string()) out.push_back(each.string());
  }
  return out;
}

uint64_t count_in(const Json& json, const char* name) {
  const auto value = json.get_integer(name);
  return value ? static_cast<uint64_t>(std::max<int64_t>(*value, 0)) : 0;
}

}  // namespace

Json to_json(const Hello& hello) {
  Json entry = Json::object();
  for (const EntryText& each : kEntryTexts) entry.set(each.name, hello.entry.*each.value);
  entry.set("aliases", list_of(hello.entry.aliases)).set("tags", list_of(hello.entry.tags));
  entry.set("created", hello.entry.created);
  Json out = Json::object().set("entry", std::move(entry)).set("socket", hello.socket);
  out.set("parent", hello.parent).set("extra", hello.extra);
  return Json::object().set("hello", std::move(out));
}

Result<Hello> read_hello(const Json& json) {
  const Json* const said = json.find("hello");
  const Json* const entry = said ? said->find("entry") : nullptr;
  const Json* const extra = said ? said->find("extra") : nullptr;
  if (!entry || !extra)
    return base::fail(ErrorCode::kInvalidArgument, "What the child is told first is no hello.");
  Hello out;
  for (const EntryText& each : kEntryTexts) {
    PUNA_TRY(out.entry.*each.value, entry->get_string(each.name));
  }
  PUNA_TRY(out.entry.created, entry->get_integer("created"));
  out.entry.aliases = texts_of(entry->find("aliases"));
  out.entry.tags = texts_of(entry->find("tags"));
  PUNA_TRY(out.socket, said->get_string("socket"));
  PUNA_TRY(out.parent, said->get_integer("parent"));
  out.extra = *extra;
  return out;
}

Json to_json(const Footprint& bytes) {
  Json out = Json::object();
  for (const auto& [device, n] : bytes) out.set(device, n);
  return out;
}

Result<Footprint> read_footprint(const Json& json) {
  Footprint out;
  if (!json.is_object())
    return base::fail(ErrorCode::kInvalidArgument, "What a model takes is no object.");
  for (const auto& [device, n] : json.members()) {
    if (!n.is_integer() || n.integer() < 0)
      return base::fail(ErrorCode::kInvalidArgument, "What a model takes is no number of bytes.");
    out[device] = static_cast<uint64_t>(n.integer());
  }
  return out;
}

Json to_json(const base::Error& error) {
  return Json::object().set("code", base::name(error.code)).set("message", error.text());
}

base::Error read_error(const Json& json) {
  constexpr std::array kCodes = {
      ErrorCode::kUsage,      ErrorCode::kInvalidArgument, ErrorCode::kNotFound,
      ErrorCode::kCorrupt,    ErrorCode::kUnsupported,     ErrorCode::kOutOfMemory,
      ErrorCode::kIo,         ErrorCode::kNetwork,         ErrorCode::kDevice,
      ErrorCode::kDeviceLost, ErrorCode::kCancelled,       ErrorCode::kSetUp,
      ErrorCode::kInternal};
  base::Error out;
  out.message = json.get_string("message").value_or("It does not say why.");
  const std::string name = json.get_string("code").value_or("");
  const auto code =
      std::ranges::find_if(kCodes, [&](ErrorCode each) { return base::name(each) == name; });
  if (code != kCodes.end()) out.code = *code;
  return out;
}

Json to_json(const service::HostStatus& status) {
  Json out = Json::object();
  for (const auto& each : kSmall) out.set(each.name, status.*each.value);
  for (const auto& each : kLarge) out.set(each.name, status.*each.value);
  out.set("steps", status.steps.n_steps).set("texts_in_steps", status.steps.n_texts);
  return out.set("closed", status.closed).set("device_lost", status.device_lost);
}

service::HostStatus read_status(const Json& json) {
  service::HostStatus out;
  for (const auto& each : kSmall)
    out.*each.value =
        static_cast<uint32_t>(std::min<uint64_t>(count_in(json, each.name), UINT32_MAX));
  for (const auto& each : kLarge) out.*each.value = count_in(json, each.name);
  out.steps.n_steps = count_in(json, "steps");
  out.steps.n_texts = count_in(json, "texts_in_steps");
  out.closed = json.get_bool("closed").value_or(false);
  out.device_lost = json.get_bool("device_lost").value_or(false);
  return out;
}

}  // namespace puna::manager
