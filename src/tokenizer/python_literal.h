// Texts and bytes as Python writes them between quotes, of which RWKV's World vocabulary is made.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace puna::tokenizer {

// What stands between the quotes of '...' or, if `is_bytes`, of b'...', as UTF-8 or those bytes.
// Nothing where an escape is none that Python writes: \t, \n, \r, \\, \', \" and \xff, in texts
// also
// \uffff and \U0010ffff (small letters only).
std::optional<std::string> read_python_literal(std::string_view literal, bool is_bytes);

// The bytes between the quotes of b'...', or of b"..." where only ' is in them.
std::string python_bytes(std::string_view bytes);

}  // namespace puna::tokenizer
