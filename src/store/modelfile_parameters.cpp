#include "store/modelfile_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/printable.h"

namespace puna::store {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = ModelfileParameter::Kind;

constexpr double kCount = 4294967295;        // of tokens, as the options of requests
constexpr double kExact = 9007199254740992;  // 2^53

// Ranges are those of the options of requests (api/ollama/options.cpp, api/sampling.cpp).
constexpr ModelfileParameter kParameters[] = {
    {"draft_num_predict", Kind::kInteger, 0, kCount},
    {"frequency_penalty", Kind::kNumber, -100, 100},
    {"main_gpu", Kind::kInteger, 0, 65535},
    {"min_p", Kind::kNumber, 0, 1},
    {"mirostat", Kind::kInteger, 0, 2},
    {"mirostat_eta", Kind::kNumber, 0, 10},
    {"mirostat_tau", Kind::kNumber, 0, 100},
    {"num_batch", Kind::kInteger, 1, kCount},
    {"num_ctx", Kind::kInteger, 1, kCount},
    {"num_gpu", Kind::kInteger, -1, 65535},
    {"num_keep", Kind::kInteger, -1, kCount},
    {"num_predict", Kind::kInteger, -2, kCount},
    {"num_thread", Kind::kInteger, 0, 65535},
    {"presence_penalty", Kind::kNumber, -100, 100},
    {"repeat_last_n", Kind::kInteger, -1, kCount},
    {"repeat_penalty", Kind::kNumber, 0.01, 100},
    {"seed", Kind::kInteger, -kExact, kExact},
    {"stop", Kind::kTexts},
    {"temperature", Kind::kNumber, 0, 100},
    {"top_k", Kind::kInteger, 0, kCount},
    {"top_p", Kind::kNumber, 0, 1},
    {"typical_p", Kind::kNumber, 0, 1},
    {"use_mmap", Kind::kFlag},
};

constexpr std::string_view kFormer[] = {"f16_kv",    "logits_all",       "low_vram",
                                        "numa",      "penalize_newline", "tfs_z",
                                        "use_mlock", "vocab_only"};

std::unexpected<base::Error> refuse(std::string what) {
  return base::fail(ErrorCode::kInvalidArgument, std::move(what));
}

template <class T>
bool reads_whole(std::string_view text, T& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

Result<Json> read_number(const ModelfileParameter& parameter, std::string_view text) {
  Json out;
  bool fits = false;
  if (parameter.kind == Kind::kInteger) {
    int64_t whole = 0;
    if (!reads_whole(text, whole))
      return refuse(fmt::format("invalid int value [{}]", base::printable(text.substr(0, 100))));
    fits = whole >= static_cast<int64_t>(parameter.lowest) &&
           whole <= static_cast<int64_t>(parameter.highest);
    out = whole;
  } else {
    double value = 0;
    if (!reads_whole(text, value) || !std::isfinite(value))
      return refuse(fmt::format("invalid float value [{}]", base::printable(text.substr(0, 100))));
    fits = value >= parameter.lowest && value <= parameter.highest;
    out = value;
  }
  if (!fits) {
    return refuse(fmt::format("parameter '{}' is {}, but {} to {} is what it takes", parameter.name,
                              base::printable(text.substr(0, 100)), parameter.lowest,
                              parameter.highest));
  }
  return out;
}

Result<Json> read_flag(std::string_view text) {
  constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::string_view kFalse[] = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != std::end(kTrue)) return Json(true);
  if (std::ranges::find(kFalse, text) != std::end(kFalse)) return Json(false);
  return refuse(fmt::format("invalid bool value [{}]", base::printable(text.substr(0, 100))));
}

}  // namespace

std::span<const ModelfileParameter> modelfile_parameters() { return kParameters; }

std::span<const std::string_view> former_parameters() { return kFormer; }

Result<Json> read_parameter(std::string_view name, std::string_view text) {
  const auto* const found = std::ranges::find(kParameters, name, &ModelfileParameter::name);
  if (found == std::end(kParameters))
    return refuse(fmt::format("unknown parameter '{}'", base::printable(name.substr(0, 100))));
  switch (found->kind) {
    case Kind::kInteger:
    case Kind::kNumber:
      return read_number(*found, text);
    case Kind::kFlag:
      return read_flag(text);
    case Kind::kTexts:
      break;
  }
  if (text.empty()) return refuse(fmt::format("parameter '{}' is empty", name));
  return Json(text);
}

Result<Json> read_parameters(const Json& given) {
  Json out = Json::object();
  if (given.is_null()) return out;
  for (const auto& [name, value] : given.members()) {
    if (value.is_null()) continue;
    if (value.is_array()) {
      Json list = Json::array();
      for (const Json& each : value.items()) {
        if (!each.is_string())
          return refuse(fmt::format("parameter '{}' has to be a list of texts", name));
        PUNA_TRY(Json read, read_parameter(name, each.string()));
        if (!read.is_string()) return refuse(fmt::format("parameter '{}' has one value", name));
        list.push(std::move(read));
      }
      out.set(name, std::move(list));
      continue;
    }
    PUNA_TRY(Json read, read_parameter(name, value.is_string() ? value.string() : value.dump()));
    if (read.is_string()) read = Json::array().push(std::move(read));
    out.set(name, std::move(read));
  }
  return out;
}

}  // namespace puna::store
