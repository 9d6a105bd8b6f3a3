#include "chat/jinja/wrap.h"

#include <algorithm>
#include <cstddef>

#include "chat/jinja/text.h"

namespace puna::chat::jinja {
namespace {

using Characters = std::vector<std::string_view>;

uint32_t value_of(std::string_view character) { return code_point_at(character, 0).value; }

// The white space that parts words; others, such as a no-break space, do not.
bool is_gap(std::string_view c) {
  return c.size() == 1 && std::string_view("\t\n\v\f\r ").find(c[0]) != std::string_view::npos;
}

bool is_letter_at(const Characters& text, size_t i) {
  if (i >= text.size()) return false;
  const uint32_t c = value_of(text[i]);
  return is_word_part(c) && !is_decimal(c);
}

bool is_hyphen_at(const Characters& text, size_t i) { return i < text.size() && text[i] == "-"; }

// Whether a word or its punctuation ends before `i`.
bool follows_word(const Characters& text, size_t i) {
  if (i == 0) return false;
  const std::string_view c = text[i - 1];
  return is_word_part(value_of(c)) ||
         (c.size() == 1 && std::string_view("!\"'&.,?").find(c[0]) != std::string_view::npos);
}

// The end of a dash of two or more hyphens between words; 0 when there is none at `i`.
size_t dash_end(const Characters& text, size_t i) {
  size_t end = i;
  while (is_hyphen_at(text, end)) ++end;
  const bool word_follows = end < text.size() && is_word_part(value_of(text[end]));
  return follows_word(text, i) && end - i >= 2 && word_follows ? end : 0;
}

// Whether a line may end behind the hyphen at `i`: it stands between two letters each.
bool breaks_behind(const Characters& text, size_t i) {
  if (!is_hyphen_at(text, i) || i < 2 || !is_letter_at(text, i - 1)) return false;
  const bool before = is_letter_at(text, i - 2) ||
                      (is_hyphen_at(text, i - 2) && i >= 3 && is_letter_at(text, i - 3));
  const bool behind =
      is_letter_at(text, i + 1) &&
      (is_letter_at(text, i + 2) || (is_hyphen_at(text, i + 2) && is_letter_at(text, i + 3)));
  return before && behind;
}

// The end of the piece that starts at `i` and is not parted: a gap, a dash, a word or a part of
// one.
size_t chunk_end(const Characters& text, size_t i, bool at_hyphens) {
  const bool gap = is_gap(text[i]);
  if (!gap && at_hyphens) {
    if (const size_t dash = dash_end(text, i)) return dash;
  }
  for (size_t end = i + 1;; ++end) {
    if (end == text.size() || is_gap(text[end]) != gap) return end;
    if (gap || !at_hyphens) continue;
    if (breaks_behind(text, end)) return end + 1;
    if (dash_end(text, end)) return end;
  }
}

bool is_blank(const Characters& text, size_t first, size_t last) {
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(first),
                     text.begin() + static_cast<std::ptrdiff_t>(last),
                     [](std::string_view c) { return is_space(value_of(c)); });
}

// Where a word too long for its line is cut, `room` characters being left: behind its last hyphen,
// if there is one.
size_t cut(const Characters& text, size_t first, size_t room) {
  size_t hyphen = first + room;
  while (hyphen > first && text[hyphen - 1] != "-") --hyphen;
  const bool leads =
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(first),
                  text.begin() + static_cast<std::ptrdiff_t>(std::max(hyphen, first + 1)) - 1,
                  [](std::string_view c) { return c == "-"; });
  return hyphen > first + 1 && !leads ? hyphen : first + room;
}

}  // namespace

std::vector<std::string> wrap(std::string_view whole, const WrapStyle& style) {
  const Characters text = split_code_points(whole);
  const auto width = static_cast<size_t>(style.width);
  std::vector<std::string> lines;
  size_t at = 0, end = 0;  // of the chunk that comes next
  const auto advance = [&] {
    at = end;
    if (at < text.size()) end = chunk_end(text, at, style.breaks_at_hyphens);
  };
  advance();
  while (at < text.size()) {
    if (!lines.empty() && is_blank(text, at, end)) advance();
    const size_t start = at;
    size_t stop = at, last = at;  // of the line, and where its last chunk starts
    while (at < text.size() && end - start <= width) {
      last = at;
      stop = end;
      advance();
    }
    if (at < text.size() && end - at > width) {
      if (style.breaks_words) {
        const size_t room = width - (stop - start);
        last = at;
        at = style.breaks_at_hyphens && room > 0 ? cut(text, at, room) : at + room;
        stop = at;
      } else if (stop == start) {
        last = at;
        stop = end;
        advance();
      }
    }
    if (is_blank(text, last, stop)) stop = last;
    if (stop == start) continue;
    std::string line;
    for (size_t i = start; i < stop; ++i) line += text[i];
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace puna::chat::jinja
