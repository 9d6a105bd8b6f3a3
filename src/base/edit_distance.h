// How far a word that nobody knows is from one that somebody may have meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace puna::base {

// Bytes to insert, remove or change to make one of the other (Levenshtein).
size_t edit_distance(std::string_view a, std::string_view b);

// The largest distance at which another word may still be meant by `wrong`: a third of its letters,
// and at least two. "quantise" is quantize, "foo" is nothing.
size_t most_mistakes(std::string_view wrong);

}  // namespace puna::base
