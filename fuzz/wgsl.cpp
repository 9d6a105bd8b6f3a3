// The WGSL preprocessor over hostile templates. The first byte cuts the input in two: the main file
// and the one that it may include as "a". Limits are small so that a run stays short; an expansion
// ends with text or with an error that names a line.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "gpu/wgsl/wgsl_preprocessor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t cut = text.size() * data[0] / 256;
  wgslpp::Options options;
  options.defines["TILE"] = "4";
  options.include = [&](std::string_view path) -> std::optional<std::string> {
    if (path != "a") return std::nullopt;
    return std::string(text.substr(cut));
  };
  options.max_output_bytes = 1 << 16;
  const wgslpp::Output out = wgslpp::expand(text.substr(0, cut), "main", options);
  PUNA_CHECK(out.ok() || out.error.find(':') != std::string::npos);
  PUNA_CHECK(out.text.size() <= options.max_output_bytes);
  return 0;
}
