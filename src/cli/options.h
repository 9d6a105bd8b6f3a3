// Options that take numbers, and texts that may not be empty: one way to read them, one way to
// refuse them, and one way for --help to say what they take.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace puna::cli {

template <class T>
struct Range {
  T lowest, highest;

  std::string text() const { return fmt::format("{} to {}", lowest, highest); }
};

// Of what has no bound of its own.
inline constexpr Range<uint32_t> kCounts{0, std::numeric_limits<uint32_t>::max()};

// The number that all of `text` is, in decimal. `option` is for messages. T: int, uint32_t,
// int64_t, uint64_t, float or double. Errors: kUsage with option, value and range.
template <class T>
base::Result<T> parse_number(std::string_view option, std::string_view text, Range<T> range);

struct OptionTexts {
  std::string names;  // "-n,--max-tokens"; messages use the last
  std::string type;   // "INT", of --help
  std::string help;
  std::string given_default;  // of --help; empty for none
};
// An option with a value; an error of `read` is wrong usage.
void add_value(
    CLI::App& app, const OptionTexts& texts,
    std::function<base::Result<void>(std::string_view option, std::string_view value)> read);

// Refuses an empty path, name or list: that comes of a variable that is not set.
CLI::Option* not_empty(CLI::Option* option);

// --host: the server that is asked.
void add_host_flag(CLI::App& app, std::string& host);

template <class T>
OptionTexts number_texts(const std::string& names, const std::string& help, Range<T> range) {
  return {.names = names,
          .type = std::is_integral_v<T> ? "INT" : "FLOAT",
          .help = fmt::format("{} ({})", help, range.text()),
          .given_default = {}};
}

template <class T>
void add_number(CLI::App& app, const std::string& names, std::optional<T>& value,
                std::type_identity_t<Range<T>> range, const std::string& help) {
  add_value(app, number_texts(names, help, range),
            [&value, range](std::string_view option, std::string_view text) -> base::Result<void> {
              PUNA_TRY(value, parse_number(option, text, range));
              return {};
            });
}

// What `value` is now is its default.
template <class T>
void add_number(CLI::App& app, const std::string& names, T& value,
                std::type_identity_t<Range<T>> range, const std::string& help) {
  OptionTexts texts = number_texts(names, help, range);
  texts.given_default = fmt::format("{}", value);
  add_value(app, texts,
            [&value, range](std::string_view option, std::string_view text) -> base::Result<void> {
              PUNA_TRY(value, parse_number(option, text, range));
              return {};
            });
}

// Numbers separated by commas.
template <class T>
void add_numbers(CLI::App& app, const std::string& names, std::vector<T>& values,
                 std::type_identity_t<Range<T>> range, const std::string& help) {
  OptionTexts texts = number_texts(names, help, range);
  texts.type += ",...";
  texts.given_default = fmt::format("{}", fmt::join(values, ","));
  add_value(app, texts,
            [&values, range](std::string_view option, std::string_view text) -> base::Result<void> {
              values.clear();
              while (true) {
                const std::string_view piece = text.substr(0, text.find(','));
                PUNA_TRY(values.emplace_back(), parse_number(option, piece, range));
                if (piece.size() == text.size()) return {};
                text.remove_prefix(piece.size() + 1);
              }
            });
}

}  // namespace puna::cli
