// Inside pipeline/: the script of a character, as the step UnicodeScripts knows it.
#pragma once

#include <cstdint>

namespace puna::tokenizer {

inline constexpr int kAnyScript = -1;  // a space or no letter of a script: goes with every one

// A number that is the same for characters of one script (hiragana, katakana and Han are one).
int script_of(char32_t code_point);

namespace detail {
struct ScriptRange {
  char32_t low, high;
  uint8_t script;
};
extern const ScriptRange kScripts[];  // in order; what is in none has any script
extern const uint32_t kScriptCount;
}  // namespace detail

}  // namespace puna::tokenizer
