// Go templates from hostile bytes: a translation is a Jinja template, which renders within small
// limits; else the error says where.
#include "chat/go_template.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "chat/template.h"

namespace {

constexpr const char* kContext = R"({
  "prompt": "a", "suffix": null, "enable_thinking": true,
  "messages": [
    {"role": "system", "content": "Be é brief.\n"},
    {"role": "user", "content": "  Hi <b>there</b> 😀"},
    {"role": "assistant", "content": null, "reasoning_content": "why",
     "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": [1, 2.5, true, null]}}}]},
    {"role": "tool", "content": [{"type": "text", "text": "20"}]}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": ["a", "b"]}}}}}]
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  static const base::Json kConversation = base::Json::parse(kContext).value();
  const auto jinja =
      chat::from_go_template(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!jinja) {
    const std::string& message = jinja.error().message;
    PUNA_CHECK(message.starts_with("Line ") || message.starts_with("The Go template has no form"));
    return 0;
  }
  const auto parsed = chat::Template::parse(*jinja);
  PUNA_CHECK(parsed.has_value());
  const chat::Limits limits{
      .max_steps = 100'000, .max_output_bytes = 1 << 16, .max_depth = 100, .now_s = 0};
  const auto text = parsed->render(kConversation, limits);
  if (text) {
    PUNA_CHECK(text->size() <= limits.max_output_bytes);
  } else {
    PUNA_CHECK(text.error().message.starts_with("Line "));
  }
  return 0;
}
