#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/edit_distance.h"

namespace puna::cli {

std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string> names) {
  std::optional<std::string> best;
  size_t least = base::most_mistakes(wrong) + 1;
  for (const std::string& name : names) {
    const size_t d = base::edit_distance(wrong, name);
    const size_t n_letters = name.size() - std::min(name.find_first_not_of('-'), name.size());
    if (d >= least || d >= n_letters) continue;
    least = d;
    best = name;
  }
  return best;
}

std::string unknown(std::string_view what, std::string_view wrong,
                    std::span<const std::string> names) {
  if (const auto near = nearest(wrong, names))
    return fmt::format("unknown {} \"{}\"; did you mean \"{}\"?", what, wrong, *near);
  return fmt::format("unknown {} \"{}\"", what, wrong);
}

}  // namespace puna::cli
