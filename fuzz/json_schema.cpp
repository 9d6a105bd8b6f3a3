// JSON schemas from hostile bytes: compiling ends with a grammar or with an error that says why; no
// way to write a text of the grammar leads to where nothing fits, and what is complete is JSON.
#include "grammar/json_schema/json_schema.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "grammar/reading.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  static constexpr size_t kMostWritten = 200;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  grammar::JsonSchemaOptions options;
  options.strict = size % 2 == 1;
  const auto compiled = grammar::compile_json_schema_text(text, options);
  if (!compiled) {
    PUNA_CHECK(!compiled.error().message.empty());
    return 0;
  }
  grammar::Reading reading(*compiled);
  std::string written;
  uint32_t noise = static_cast<uint32_t>(size);
  while (written.size() < kMostWritten) {
    noise = noise * 1664525 + 1013904223;
    reading.settle();
    if (reading.complete() && (noise >> 30) == 0) break;
    bool goes_on = false;
    for (uint32_t i = 0; i < 256 && !goes_on; ++i) {
      const auto byte = static_cast<uint8_t>((noise >> 16) + i);
      goes_on = reading.push(byte);
      if (goes_on) written += static_cast<char>(byte);
    }
    PUNA_CHECK(goes_on || reading.complete());
    if (!goes_on) break;
  }
  reading.settle();
  if (reading.complete()) {
    PUNA_CHECK(base::Json::parse(written, /*max_depth=*/static_cast<int>(kMostWritten)));
  }
  return 0;
}
