#include <algorithm>

#include "manager/instance.h"
#include "manager/manager.h"
#include "store/name.h"

namespace puna::manager {
namespace {

// Letters to insert, remove or change to make one of the other (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

bool Entry::answers_to(std::string_view name) const {
  if (!file_name.empty() && api::same_name(file_name, name)) return true;
  return std::ranges::any_of(aliases,
                             [&](const std::string& each) { return api::same_name(each, name); });
}

std::string nearest(std::string_view name, const std::vector<Entry>& entries) {
  constexpr size_t kLongest = 300;
  const std::string wanted = store::lower_case(name.substr(0, kLongest));
  std::string out;
  size_t least = std::max<size_t>(2, wanted.size() / 3) + 1;  // a third of the letters may be wrong
  for (const Entry& entry : entries) {
    for (const std::string& alias : entry.aliases) {
      const size_t d = distance(wanted, store::lower_case(alias));
      if (d >= least) continue;
      least = d;
      out = entry.id;
    }
  }
  return out;
}

}  // namespace puna::manager
