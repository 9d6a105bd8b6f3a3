#include "chat/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <span>

namespace puna::chat {
namespace {

using base::Json;
using base::Result;

// Adds the members of `from`, if it is an object, to `to`.
Result<void> merge(Json& to, const Json& from, std::string_view what) {
  if (from.is_null()) return {};
  if (!from.is_object()) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("{} are of type {}, but an object is expected.", what, from.type_name()));
  }
  // Few stand there already; those of `from` differ from each other.
  const size_t n_before = to.members().size();
  for (const auto& [key, value] : from.members()) {
    const auto before = std::span(to.members()).first(n_before);
    if (std::ranges::find(before, key, &Json::Member::first) == before.end()) {
      to.add(key, value);
    } else {
      to.set(key, value);
    }
  }
  return {};
}

std::string day_as(const char* format, int64_t now_s) {
  const auto now = now_s >= 0 ? static_cast<std::time_t>(now_s) : std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char buffer[64];
  return {buffer, std::strftime(buffer, sizeof buffer, format, &local)};
}

}  // namespace

Result<std::string> render_chat(const Template& chat_template, const std::vector<Message>& messages,
                                bool add_generation_prompt, const Json& extra,
                                const Limits& limits) {
  Json list = Json::array();
  for (const Message& message : messages) {
    Json item = Json::object();
    item.set("role", message.role);
    item.set("content", message.content);
    PUNA_TRY(merge(item, message.fields, "The further members of a message"));
    list.push(std::move(item));
  }
  Json context = Json::object();
  context.set("tools", Json());
  context.set("documents", Json());
  context.set("date_string", day_as("%d %b %Y", limits.now_s));
  context.set("datetime", day_as("%b %d %Y", limits.now_s));
  PUNA_TRY(merge(context, extra, "The further variables of a chat template"));
  context.set("messages", std::move(list));
  context.set("add_generation_prompt", add_generation_prompt);
  return chat_template.render(context, limits);
}

std::string short_call_id(std::string_view key) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  std::string out;
  for (int i = 0; i < 9; ++i, hash /= kDigits.size()) out += kDigits[hash % kDigits.size()];
  return out;
}

}  // namespace puna::chat
