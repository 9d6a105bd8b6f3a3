#include "api/ollama/time.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "api/fields.h"

namespace puna::api::ollama {

namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
// The longer of two names that begin alike comes first.
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6},
                           {"ms", 1e-3}, {"s", 1},     {"m", 60},    {"h", 3600}};

// Digits with a point in front, within or behind them or none, from the beginning of `text`.
std::optional<double> take_decimal(std::string_view& text) {
  double digits = 0, scale = 1;
  bool any = false, point = false;
  while (!text.empty()) {
    const char c = text.front();
    if (c >= '0' && c <= '9') {
      digits = digits * 10 + (c - '0');
      if (point) scale *= 10;
      any = true;
    } else if (c == '.' && !point) {
      point = true;
    } else {
      break;
    }
    text.remove_prefix(1);
  }
  return any ? std::optional(digits / scale) : std::nullopt;
}

// Source: Go's package time, ParseDuration.
std::optional<double> duration_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return {};
  double sum = 0;
  while (!text.empty()) {
    const auto number = take_decimal(text);
    if (!number) return {};
    const Unit* unit = nullptr;
    for (const Unit& each : kUnits) {
      if (!unit && text.starts_with(each.name)) unit = &each;
    }
    if (!unit) return {};
    text.remove_prefix(unit->name.size());
    sum += *number * unit->seconds;
  }
  return negative ? -sum : sum;
}

}  // namespace

std::string timestamp(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(duration_cast<nanoseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string now() { return timestamp(std::chrono::system_clock::now()); }

int64_t ns_of(double ms) { return static_cast<int64_t>(ms * 1e6); }

base::Result<double> read_keep_alive(const base::Json& value) {
  if (value.is_number()) return value.number();
  if (value.is_string()) {
    if (const auto seconds = duration_of(value.string())) return *seconds;
  }
  return refuse_field("keep_alive", value, "a number of seconds or a duration (\"5m\")");
}

}  // namespace puna::api::ollama
