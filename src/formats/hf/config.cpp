#include "formats/hf/config.h"

#include <fmt/format.h>

#include <cmath>

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr uint64_t kMostCount = uint64_t{1} << 40;

// Python's json module writes infinities and NaN as bare words, which JSON has not.
std::string without_bare_words(std::string_view text) {
  constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += text.substr(i, 2);
      i += 2;
      continue;
    }
    if (c == '"') in_string = !in_string;
    bool replaced = false;
    for (const std::string_view word : kWords) {
      if (in_string || !text.substr(i).starts_with(word)) continue;
      out += "null";
      i += word.size();
      replaced = true;
      break;
    }
    if (replaced) continue;
    out += c;
    ++i;
  }
  return out;
}

std::unexpected<base::Error> wrong(std::string_view key, const Json& value,
                                   std::string_view wanted) {
  return base::fail(ErrorCode::kCorrupt, fmt::format("The key \"{}\" of config.json is {}, not {}.",
                                                     key, value.dump(), wanted));
}

std::unexpected<base::Error> missing(std::string_view key) {
  return base::fail(ErrorCode::kNotFound,
                    fmt::format("The key \"{}\" is missing in config.json.", key));
}

}  // namespace

Result<Config> Config::parse_whole(std::string_view text) {
  PUNA_TRY(Json json, Json::parse(without_bare_words(text), /*max_depth=*/40));
  if (json.is_object()) return Config(std::move(json));
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("config.json is {}, not an object.", json.type_name()));
}

Result<Config> Config::parse(std::string_view text) {
  PUNA_TRY(Config whole, parse_whole(text));
  Json json = std::move(whole.json_);
  for (const char* part : {"text_config", "llm_config"}) {
    const Json* text_part = json.find(part);
    if (!text_part || !text_part->is_object()) continue;
    const Json inner = *text_part;
    for (const auto& [key, value] : inner.members()) {
      if (key != "architectures") json.set(key, value);
    }
  }
  return Config(std::move(json));
}

const Json* Config::find(std::string_view key) const {
  const Json* value = json_.find(key);
  return value && !value->is_null() ? value : nullptr;
}

void Config::also_called(std::string_view key, std::string_view other) {
  if (const Json* value = find(other)) usually(key, *value);
}

void Config::usually(std::string_view key, Json value) {
  if (!has(key)) set(key, std::move(value));
}

Result<uint64_t> Config::count(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return missing(key);
  if (!value->is_integer() || value->integer() < 0 ||
      static_cast<uint64_t>(value->integer()) > kMostCount)
    return wrong(key, *value, fmt::format("a count up to {}", kMostCount));
  return static_cast<uint64_t>(value->integer());
}
Result<uint64_t> Config::count(std::string_view key, uint64_t otherwise) const {
  if (!has(key)) return otherwise;
  return count(key);
}

Result<double> Config::real(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return missing(key);
  if (!value->is_number() || !std::isfinite(value->number())) return wrong(key, *value, "a number");
  return value->number();
}
Result<double> Config::real(std::string_view key, double otherwise) const {
  if (!has(key)) return otherwise;
  return real(key);
}

Result<bool> Config::flag(std::string_view key, bool otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  if (!value->is_bool()) return wrong(key, *value, "true or false");
  return value->boolean();
}

Result<std::string> Config::text(std::string_view key, std::string_view otherwise) const {
  const Json* value = find(key);
  if (!value) return std::string(otherwise);
  if (!value->is_string()) return wrong(key, *value, "a string");
  return value->string();
}

Result<std::vector<double>> Config::reals(std::string_view key) const {
  const Json* value = find(key);
  std::vector<double> out;
  if (!value) return out;
  if (!value->is_array()) return wrong(key, *value, "a list of numbers");
  for (const Json& item : value->items()) {
    if (!item.is_number()) return wrong(key, *value, "a list of numbers");
    out.push_back(item.number());
  }
  return out;
}

Result<std::vector<std::string>> Config::texts(std::string_view key) const {
  const Json* value = find(key);
  std::vector<std::string> out;
  if (!value) return out;
  if (!value->is_array()) return wrong(key, *value, "a list of strings");
  for (const Json& item : value->items()) {
    if (!item.is_string()) return wrong(key, *value, "a list of strings");
    out.push_back(item.string());
  }
  return out;
}

Result<void> Config::must_be(std::string_view key, const Json& wanted) const {
  const Json* value = find(key);
  if (!value || *value == wanted) return {};
  if (value->is_number() && wanted.is_number() && value->number() == wanted.number()) return {};
  return base::fail(
      ErrorCode::kUnsupported,
      fmt::format("The key \"{}\" of config.json is {}; only {} is supported for this model.", key,
                  value->dump(), wanted.dump()));
}

}  // namespace puna::formats::hf
