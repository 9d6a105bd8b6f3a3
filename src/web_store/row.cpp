#include "web_store/row.h"

#include <algorithm>
#include <string>
#include <utility>

namespace puna::web_store {

using base::Json;

namespace {

void clear(Row& row) {
  row.value = Json::object();
  row.times = Json::object();
}

// False: the member was changed later.
bool take_time(Row& row, const std::string& member, int64_t time_ms) {
  const Json* const known = row.times.find(member);
  if (known && known->integer() > time_ms) return false;
  row.times.set(member, time_ms);
  return true;
}

Json without(const Json& value, const std::string& member) {
  Json::Object out = value.members();
  std::erase_if(out, [&](const Json::Member& each) { return each.first == member; });
  return Json(std::move(out));
}

}  // namespace

void remove(Row& row, int64_t time_ms) {
  row.removed_ms = std::max(row.removed_ms.value_or(time_ms), time_ms);
  if (row.is_removed()) clear(row);
}

void merge(Row& row, const api::WebChange& change, int64_t now_ms) {
  const int64_t time = std::min(change.time_ms, now_ms);
  if (change.removed) return remove(row, time);
  if (change.whole) row.whole_ms = std::max(row.whole_ms.value_or(time), time);
  if (row.is_removed()) return;
  for (const auto& [member, value] : change.value.members())
    if (take_time(row, member, time)) row.value.set(member, value);
  for (const std::string& member : change.without)
    if (take_time(row, member, time)) row.value = without(row.value, member);
}

}  // namespace puna::web_store
