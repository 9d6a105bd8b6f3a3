#include "cli/table.h"

#include <algorithm>

#include "base/utf8.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace puna::cli {
namespace {

constexpr size_t kGap = 3;  // between columns

size_t width_of(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size(); at += base::utf8_next(text, at).bytes) ++n;
  return n;
}

void print_blocks(std::span<const Column> columns,
                  const std::vector<std::vector<std::string>>& rows) {
  size_t widest = 0;
  for (const Column& column : columns) widest = std::max(widest, column.heading.size());
  for (const auto& row : rows) {
    print_out("{}\n", row.front());
    for (size_t i = 1; i < columns.size(); ++i)
      print_out("  {:<{}}  {}\n", columns[i].heading, widest, row[i]);
  }
}

}  // namespace

void print_table(std::span<const Column> columns,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  size_t total = kGap * (columns.size() - 1);
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t width = columns[i].heading.size();
    for (const auto& row : rows) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
    total += width;
  }
  const size_t room = columns_of(stdout);
  if (room > 0 && total > room && !rows.empty()) return print_blocks(columns, rows);
  const auto print_row = [&](const auto& text_of) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string_view text = text_of(i);
      const std::string space(widths[i] - width_of(text), ' ');
      line += columns[i].right ? space + std::string(text) : std::string(text) + space;
      line.append(kGap, ' ');
    }
    while (line.ends_with(' ')) line.pop_back();
    print_out("{}\n", line);
  };
  print_row([&](size_t i) { return columns[i].heading; });
  for (const auto& row : rows) print_row([&](size_t i) { return std::string_view(row[i]); });
}

}  // namespace puna::cli
