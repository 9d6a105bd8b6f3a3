// Points in time and spans of it as Ollama's dialect writes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace puna::api::ollama {

// RFC 3339 with nanoseconds: "2026-11-25T19:06:01.123456789Z".
std::string timestamp(std::chrono::system_clock::time_point time);
std::string now();

// Nanoseconds of milliseconds.
int64_t ns_of(double ms);

// How long a model is to stay, in seconds; below 0: forever. A number of seconds, or a duration of
// Go ("5m", "1h30m", "-1s"). Errors: kInvalidArgument naming keep_alive.
base::Result<double> read_keep_alive(const base::Json& value);

}  // namespace puna::api::ollama
