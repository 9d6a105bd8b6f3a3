// Chat templates from hostile bytes: parsing and rendering a conversation within small limits end,
// with text or with an error that says where.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "chat/template.h"

namespace {

constexpr const char* kContext = R"({
  "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "documents": null,
  "messages": [
    {"role": "system", "content": "Be é brief.\n"},
    {"role": "user", "content": "  Hi <b>there</b> 😀"},
    {"role": "assistant", "content": null, "reasoning_content": "why",
     "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": {"x": [1, 2.5, true]}}}]},
    {"role": "tool", "content": [{"type": "text", "text": "20"}]}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {}}}}}]
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  static const base::Json kConversation = base::Json::parse(kContext).value();
  const chat::Limits limits{
      .max_steps = 100'000, .max_output_bytes = 1 << 16, .max_depth = 100, .now_s = 0};
  const auto parsed = chat::Template::parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!parsed) {
    PUNA_CHECK(parsed.error().message.starts_with("Line "));
    return 0;
  }
  const auto text = parsed->render(kConversation, limits);
  if (text) {
    PUNA_CHECK(text->size() <= limits.max_output_bytes);
  } else {
    PUNA_CHECK(text.error().message.starts_with("Line "));
  }
  return 0;
}
