#include <algorithm>

#include "base/edit_distance.h"
#include "manager/instance.h"
#include "manager/manager.h"
#include "store/name.h"

namespace puna::manager {

bool Entry::answers_to(std::string_view name) const {
  if (!file_name.empty() && api::same_name(file_name, name)) return true;
  return std::ranges::any_of(aliases,
                             [&](const std::string& each) { return api::same_name(each, name); });
}

std::string nearest(std::string_view name, const std::vector<Entry>& entries) {
  constexpr size_t kLongest = 300;
  const std::string wanted = store::lower_case(name.substr(0, kLongest));
  std::string out;
  size_t least = base::most_mistakes(wanted) + 1;
  for (const Entry& entry : entries) {
    for (const std::string& alias : entry.aliases) {
      const size_t d = base::edit_distance(wanted, store::lower_case(alias));
      if (d >= least) continue;
      least = d;
      out = entry.id;
    }
  }
  return out;
}

api::ServedModel Entry::served() const {
  api::ServedModel out;
  out.id = id;
  out.aliases = aliases;
  out.tags = tags;
  out.file_name = file_name;
  out.created = created;
  out.path = path;
  out.digest = digest;
  return out;
}

}  // namespace puna::manager
