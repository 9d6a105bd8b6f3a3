// Sets of code points, for expressions that are compiled: ranges in order, what Unicode and POSIX
// call by name, and letters that are one but for case.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace puna::tokenizer {

class CharSet {
 public:
  struct Range {
    char32_t low, high;
  };
  static constexpr char32_t kLast = 0x10FFFF;

  CharSet() = default;
  CharSet(char32_t low, char32_t high) : ranges_{{low, high}} {}
  // A property of Unicode ("Lu", "Han", "alphabetic"), a POSIX class ("posix:alpha") or one of the
  // library's own classes ("rust:word"); case, spaces, "_" and "-" do not count. Nothing for a name
  // that is not known.
  static std::optional<CharSet> named(std::string_view name);

  void add(const CharSet& other);
  void intersect(const CharSet& other);
  void negate();
  // Adds what the members become when case is ignored.
  void fold();

  bool contains(char32_t code_point) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  void sort();
  std::vector<Range> ranges_;  // in order, with gaps between them
};

// Calls each(other) for every character that is `code_point` but for case.
template <class Each>
void for_each_fold(char32_t code_point, Each&& each);

namespace detail {

struct PropertyRow {
  const char* name;
  uint32_t at, bytes;  // in kPropertyBytes: gap, length - 1, gap ... as LEB128
};
// The next one of a ring of characters that are one but for case; sorted.
struct FoldPair {
  char32_t from, to;
};
extern const uint8_t kPropertyBytes[];
extern const PropertyRow kProperties[];
extern const uint32_t kPropertyCount;
extern const FoldPair kFolds[];
extern const uint32_t kFoldCount;

// The next character of the ring, or `code_point` itself.
char32_t next_fold(char32_t code_point);

}  // namespace detail

template <class Each>
void for_each_fold(char32_t code_point, Each&& each) {
  for (char32_t at = detail::next_fold(code_point); at != code_point; at = detail::next_fold(at))
    each(at);
}

}  // namespace puna::tokenizer
