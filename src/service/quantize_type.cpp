#include "service/quantize_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "store/name.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using store::lower_case;

namespace {

constexpr std::string_view kPure = "pure:";

bool is_writable(const quant::Mix& mix) { return quant::info(mix.base).encode != nullptr; }

const quant::Mix* mix_of_type(const quant::TypeInfo* type) {
  for (const quant::Mix& mix : quant::mixes()) {
    if (type && mix.base == type->type) return &mix;
  }
  return nullptr;
}

// A type or mix that GGUF files are called by, whether it can be written here or not.
bool is_known(std::string_view text) {
  constexpr std::string_view kMixes[] = {"iq2_m", "iq3_xs", "iq3_m", "mxfp4_moe"};
  constexpr uint32_t kIds = 64;  // above every id that GGUF has given out
  const std::string wanted = lower_case(text);
  if (std::ranges::find(kMixes, wanted) != std::end(kMixes)) return true;
  for (uint32_t id = 0; id < kIds; ++id) {
    const std::string_view name = quant::gguf_type_name(id);
    if (name != "unknown" && lower_case(name) == wanted) return true;
  }
  return false;
}

}  // namespace

std::string writable_mixes() {
  std::string out;
  for (const quant::Mix& mix : quant::mixes()) {
    if (is_writable(mix)) out += (out.empty() ? "" : ", ") + std::string(mix.name);
  }
  return out;
}

Result<formats::QuantizeOptions> parse_type(std::string_view text) {
  const bool pure = text.starts_with(kPure);
  const std::string_view name = pure ? text.substr(kPure.size()) : text;
  const quant::Mix* mix = pure ? mix_of_type(quant::find(name)) : quant::find_mix(name);
  if (mix && is_writable(*mix)) return formats::QuantizeOptions{mix, pure};
  if (mix || is_known(name))
    return base::fail(ErrorCode::kUsage, fmt::format("Writing {} is not supported yet.", name));
  return base::fail(ErrorCode::kUsage,
                    fmt::format("\"{}\" is no type that can be written; there are {}, and "
                                "pure:TYPE for one type throughout.",
                                text, writable_mixes()));
}

}  // namespace puna::service
