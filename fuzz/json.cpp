// JSON from hostile bytes: what parses is written and read again to the same value, on one line and
// indented.
#include "base/json.h"

#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using puna::base::Json;
  const auto value = Json::parse({reinterpret_cast<const char*>(data), size}, /*max_depth=*/40);
  if (!value) {
    PUNA_CHECK(!value.error().message.empty());
    return 0;
  }
  for (const int indent : {0, 2}) {
    const auto again = Json::parse(value->dump(indent), /*max_depth=*/40);
    PUNA_CHECK(again.has_value());
    PUNA_CHECK(again->dump() == value->dump());
  }
  return 0;
}
