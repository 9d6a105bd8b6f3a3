#include "cli/seconds.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "api/ollama/time.h"
#include "base/json.h"

namespace puna::cli {

base::Result<double> read_seconds(std::string_view option, std::string_view value) {
  double number = 0;
  const char* const first = std::to_address(value.begin());
  const char* const last = first + value.size();
  const auto [end, error] = std::from_chars(first, last, number);
  const bool is_number = error == std::errc() && end == last;
  const auto seconds =
      api::ollama::read_keep_alive(is_number ? base::Json(number) : base::Json(value));
  if (seconds) return *seconds;
  return base::fail(base::ErrorCode::kUsage,
                    fmt::format("{} is \"{}\", but a number of seconds or a duration (\"5m\") is "
                                "expected.",
                                option, value));
}

}  // namespace puna::cli
