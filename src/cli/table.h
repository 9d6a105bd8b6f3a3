// Tables on standard output, as `puna ps` prints them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace puna::cli {

struct Column {
  std::string_view heading;
  bool right = false;  // aligned so: of numbers
};

// A row has a text for each column, without control characters. Columns are as wide as they need;
// where a terminal is narrower than all of them, each row becomes a block of lines.
void print_table(std::span<const Column> columns,
                 const std::vector<std::vector<std::string>>& rows);

}  // namespace puna::cli
