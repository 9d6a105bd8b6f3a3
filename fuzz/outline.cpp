// The outline of a hostile body: whatever it is, no byte behind its end is read, and of what is a
// JSON object the members with the names are those that the parser finds.
#include "api/outline.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"

using namespace puna;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy as long as the text, so that a read behind its end is one behind the allocation's.
  const std::vector<char> bytes(data, data + size);
  const std::string_view text(bytes.data(), bytes.size());
  constexpr std::array<std::string_view, 3> kNames = {"model", "keep_alive", "messages"};
  const auto outline = api::outline(text, kNames, text.size());
  const auto whole = base::Json::parse_strictly(text);
  if (!whole) return 0;
  PUNA_CHECK(outline.has_value());
  PUNA_CHECK(outline->is_object() == whole->is_object());
  if (!whole->is_object()) return 0;
  for (const std::string_view name : kNames) {
    const base::Json* expected = whole->find(name);
    const base::Json* found = outline->find(name);
    PUNA_CHECK((expected == nullptr) == (found == nullptr));
    if (expected) PUNA_CHECK(found->dump() == expected->dump());
  }
  return 0;
}
