// What is said about a wrong command line: names that do not exist, with the nearest that does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace puna::cli {

// The name that differs from `wrong` in the fewest letters; none when all differ in many.
std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string> names);

// `Unknown command "rnu"; did you mean "run"?`
std::string unknown(std::string_view what, std::string_view wrong,
                    std::span<const std::string> names);

// A value that a room refuses is wrong usage when it comes from a flag: exit code 2.
template <class T>
base::Result<T> as_usage(base::Result<T> result) {
  if (!result && result.error().code == base::ErrorCode::kInvalidArgument)
    result.error().code = base::ErrorCode::kUsage;
  return result;
}

}  // namespace puna::cli
