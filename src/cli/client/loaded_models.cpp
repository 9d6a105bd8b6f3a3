#include "cli/client/loaded_models.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include "store/name.h"

namespace puna::cli {

using base::Json;
using base::Result;

namespace {

std::string text_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value && value->is_string() ? value->string() : "";
}

uint64_t count_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value && value->is_integer() && value->integer() > 0
             ? static_cast<uint64_t>(value->integer())
             : 0;
}

// Seconds since 1970 of "2026-11-26T08:30:00.123+01:00".
std::optional<int64_t> seconds_of(const std::string& time) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  int end = 0;
  if (std::sscanf(time.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
                  &second, &end) != 6)
    return {};
  using namespace std::chrono;
  const year_month_day date = std::chrono::year(year) / month / day;
  if (!date.ok()) return {};
  int64_t out =
      sys_seconds(sys_days(date)).time_since_epoch().count() + hour * 3600 + minute * 60 + second;
  std::string_view zone = std::string_view(time).substr(static_cast<size_t>(end));
  zone.remove_prefix(std::min(zone.find_first_of("Z+-"), zone.size()));
  int zone_hours = 0, zone_minutes = 0;
  if (zone.size() > 1 &&
      std::sscanf(std::string(zone.substr(1)).c_str(), "%2d:%2d", &zone_hours, &zone_minutes) == 2)
    out += (zone[0] == '-' ? 1 : -1) * (zone_hours * 3600 + zone_minutes * 60);
  return out;
}

std::string_view without_latest(std::string_view name) {
  constexpr std::string_view kLatest = ":latest";
  if (name.ends_with(kLatest)) name.remove_suffix(kLatest.size());
  return name;
}

}  // namespace

Result<std::vector<LoadedModelReport>> loaded_models(const Json& answer) {
  const Json* models = answer.find("models");
  if (!models || !models->is_array())
    return base::fail(base::ErrorCode::kCorrupt, "The server's answer has no list of models.");
  std::vector<LoadedModelReport> out;
  for (const Json& model : models->items()) {
    out.push_back({.name = text_of(model, "name"),
                   .digest = text_of(model, "digest"),
                   .bytes = count_of(model, "size"),
                   .gpu_bytes = count_of(model, "size_vram"),
                   .context = count_of(model, "context_length"),
                   .expires = text_of(model, "expires_at")});
  }
  return out;
}

std::string processor_text(uint64_t bytes, uint64_t gpu_bytes) {
  if (gpu_bytes == 0) return "100% CPU";
  if (gpu_bytes >= bytes) return "100% GPU";
  const double cpu = static_cast<double>(bytes - gpu_bytes) / static_cast<double>(bytes);
  const long percent = std::lround(cpu * 100);
  return fmt::format("{}%/{}% CPU/GPU", percent, 100 - percent);
}

std::string until_text(const std::string& expires, int64_t now_s) {
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86400, kYear = 365 * kDay;
  const std::optional<int64_t> at = seconds_of(expires);
  if (!at) return expires;
  const int64_t left = *at - now_s;
  if (left <= 0) return "Stopping...";
  if (left > 20 * kYear) return "Forever";
  const auto say = [](int64_t n, std::string_view unit) {
    return fmt::format("{} {}{} from now", n, unit, n == 1 ? "" : "s");
  };
  if (left < kMinute) return say(left, "second");
  if (left < kHour) return say(left / kMinute, "minute");
  if (left < 2 * kDay) return say(left / kHour, "hour");
  return say(left / kDay, "day");
}

bool same_model(std::string_view a, std::string_view b) {
  return store::lower_case(without_latest(a)) == store::lower_case(without_latest(b));
}

}  // namespace puna::cli
