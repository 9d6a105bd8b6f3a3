#include "formats/hf/encoders/family.h"

#include <fmt/format.h>

#include <string>

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

// A size that may be listed for both axes.
Result<uint64_t> side(const Config& config, std::string_view key) {
  const Json* value = config.find(key);
  if (!value || !value->is_array()) return config.count(key);
  const std::span<const Json> sides = value->items();
  if (sides.size() == 2 && sides[0] == sides[1] && sides[0].is_integer() && sides[0].integer() > 0)
    return static_cast<uint64_t>(sides[0].integer());
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The key \"{}\" of config.json is {}; squares are supported.", key,
                                value->dump()));
}

Result<void> put_side(EncoderWork& w, std::string_view key, std::string_view clip) {
  PUNA_TRY(const uint64_t n, side(w.part, key));
  w.m.set(clip, n);
  return {};
}

}  // namespace

Result<void> put_square(EncoderWork& w) {
  PUNA_TRY(put_side(w, "image_size", "vision.image_size"));
  return put_side(w, "patch_size", "vision.patch_size");
}

Result<void> put_activation(EncoderWork& w, std::string_view otherwise) {
  PUNA_TRY(const std::string act, w.part.text("hidden_act", otherwise));
  if (act == "silu" || act == "swish") {
    w.m.set("use_silu", true);
  } else if (act.starts_with("gelu")) {
    w.m.set("use_gelu", true);
  } else if (act == "quick_gelu") {
    w.m.set("use_gelu", false);
  } else {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The encoder's key \"hidden_act\" of config.json is \"{}\"; silu, "
                    "gelu and quick_gelu are supported.",
                    act));
  }
  return {};
}

}  // namespace puna::formats::hf
