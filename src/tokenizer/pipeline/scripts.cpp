#include "tokenizer/pipeline/scripts.h"

#include <algorithm>

namespace puna::tokenizer {

int script_of(char32_t code_point) {
  const detail::ScriptRange* end = detail::kScripts + detail::kScriptCount;
  const auto* at =
      std::upper_bound(detail::kScripts, end, code_point,
                       [](char32_t c, const detail::ScriptRange& range) { return c < range.low; });
  if (at == detail::kScripts || code_point > (at - 1)->high) return kAnyScript;
  return (at - 1)->script;
}

}  // namespace puna::tokenizer
