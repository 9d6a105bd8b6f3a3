#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace puna::cli {
namespace {

// Letters to insert, remove or change to make one of the other (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
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

std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string> names) {
  std::optional<std::string> best;
  // A third of the letters may be wrong: "quantise" is quantize, "foo" is nothing.
  size_t least = std::max<size_t>(2, wrong.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t d = distance(wrong, name);
    if (d >= least || d >= name.size()) continue;
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
