// The methods of strings, by code points as Python has them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "chat/jinja/builtins.h"
#include "chat/jinja/format.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/text.h"
#include "chat/jinja/unicode.h"

namespace puna::chat::jinja {
namespace {

using base::Result;

Result<Value> list_of(const Value& self, const std::vector<std::string_view>& pieces,
                      ListData::Form form = ListData::Form::kList) {
  std::vector<Value> items;
  for (const std::string_view piece : pieces)
    items.push_back(self.is_markup() ? Value::markup(std::string(piece)) : Value(piece));
  return Value::list(std::move(items), form);
}

// ---- trimming and case

using TrimFunction = std::string_view (*)(std::string_view, const std::string_view*);

template <TrimFunction trims>
Result<Value> strip(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"chars=", "/"}));
  if (!given[0] || given[0]->is_none())
    return text_like(evaluator, self, std::string(trims(self.string(), nullptr)));
  PUNA_TRY(const std::string set, string_or(given[0], "", "the argument of strip()"));
  PUNA_TRY(evaluator.spend(self.weight() * (1 + set.size() / 8)));
  const std::string_view view = set;
  return text_like(evaluator, self, std::string(trims(self.string(), &view)));
}

template <std::string (*change)(std::string_view)>
Result<Value> changed(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(self.weight()));
  return text_like(evaluator, self, change(self.string()));
}

template <bool prefix>
Result<Value> remove_affix(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"affix", "/"}));
  PUNA_TRY(const std::string text, string_or(given[0], "", "what to remove"));
  std::string_view out = self.string();
  if (prefix && out.starts_with(text)) out.remove_prefix(text.size());
  if (!prefix && out.ends_with(text)) out.remove_suffix(text.size());
  return text_like(evaluator, self, std::string(out));
}

// ---- cutting

std::vector<std::string_view> split_at_space(std::string_view text, int64_t max_splits) {
  std::vector<std::string_view> pieces;
  for (text = trim_left(text); !text.empty(); text = trim_left(text)) {
    if (max_splits >= 0 && static_cast<int64_t>(pieces.size()) == max_splits) {
      pieces.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const CodePoint c = code_point_at(text, end);
      if (is_space(c.value)) break;
      end += c.bytes;
    }
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

std::vector<std::string_view> split_at_space_from_right(std::string_view text, int64_t max_splits) {
  // The words from the right, and before them all the text that is left.
  std::vector<std::string_view> words = split_at_space(text, -1);
  if (max_splits < 0 || static_cast<int64_t>(words.size()) <= max_splits) return words;
  const size_t joined = words.size() - static_cast<size_t>(max_splits);
  const char* end = words[joined - 1].data() + words[joined - 1].size();
  std::vector<std::string_view> pieces = {text.substr(0, static_cast<size_t>(end - text.data()))};
  pieces.insert(pieces.end(), words.begin() + static_cast<ptrdiff_t>(joined), words.end());
  return pieces;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       int64_t max_splits) {
  std::vector<std::string_view> pieces;
  while (max_splits < 0 || static_cast<int64_t>(pieces.size()) < max_splits) {
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  pieces.push_back(text);
  return pieces;
}

std::vector<std::string_view> split_at_from_right(std::string_view text, std::string_view separator,
                                                  int64_t max_splits) {
  std::vector<std::string_view> pieces;
  while (max_splits < 0 || static_cast<int64_t>(pieces.size()) < max_splits) {
    const size_t start = text.rfind(separator);
    if (start == std::string_view::npos) break;
    pieces.push_back(text.substr(start + separator.size()));
    text = text.substr(0, start);
  }
  pieces.push_back(text);
  std::ranges::reverse(pieces);
  return pieces;
}

template <bool from_right>
Result<Value> split(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sep=", "maxsplit="}));
  PUNA_TRY(const int64_t max_splits, integer_or(given[1], -1, "maxsplit"));
  PUNA_TRY(evaluator.spend(self.string().size() * 2));  // at worst every byte becomes a piece
  if (!given[0] || given[0]->is_none()) {
    return list_of(
        self, (from_right ? split_at_space_from_right : split_at_space)(self.string(), max_splits));
  }
  PUNA_TRY(const std::string separator, string_or(given[0], "", "the separator"));
  if (separator.empty()) return refuse("the separator is empty");
  return list_of(
      self, (from_right ? split_at_from_right : split_at)(self.string(), separator, max_splits));
}

template <bool from_right>
Result<Value> partition(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sep", "/"}));
  PUNA_TRY(const std::string separator, string_or(given[0], "", "the separator"));
  if (separator.empty()) return refuse("the separator is empty");
  PUNA_TRY(evaluator.spend(self.weight()));
  const std::string_view text = self.string();
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  std::vector<std::string_view> parts = from_right ? std::vector<std::string_view>{"", "", text}
                                                   : std::vector<std::string_view>{text, "", ""};
  if (at != std::string::npos)
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  return list_of(self, parts, ListData::Form::kTuple);
}

Result<Value> lines(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"keepends="}));
  PUNA_TRY(const int64_t keeps, integer_or(given[0], 0, "keepends"));
  PUNA_TRY(evaluator.spend(self.string().size() * 2));
  return list_of(self, split_lines(self.string(), keeps != 0));
}

// ---- looking for text

// The part of a string between two bounds as slices take them; none when they are out of order.
struct Part {
  std::string_view text;
  int64_t offset = 0;  // in characters
};

Result<std::optional<Part>> part_of(const Value& self, const Value* first, const Value* last) {
  const auto read = [](const Value* value, int64_t fallback) {
    return integer_or(value && value->is_none() ? nullptr : value, fallback, "a bound");
  };
  if (!first && !last) return Part{.text = self.string()};
  const int64_t length = count_code_points(self.string());
  PUNA_TRY(int64_t from, read(first, 0));
  PUNA_TRY(int64_t to, read(last, length));
  const auto clamped = [&](int64_t at) { return at < 0 ? std::max<int64_t>(at + length, 0) : at; };
  from = clamped(from);
  to = std::min(clamped(to), length);
  if (from > to) return std::nullopt;
  const auto pieces = split_code_points(self.string());
  const auto byte = [&](int64_t at) {
    return at == length
               ? self.string().size()
               : static_cast<size_t>(pieces[static_cast<size_t>(at)].data() - self.string().data());
  };
  return Part{.text = std::string_view(self.string()).substr(byte(from), byte(to) - byte(from)),
              .offset = from};
}

template <bool at_start>
Result<Value> has_end(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"affix", "start=", "end=", "/"}));
  PUNA_TRY(evaluator.spend(self.weight()));
  PUNA_TRY(const auto part, part_of(self, given[1], given[2]));
  const auto fits = [&](const Value& affix) -> Result<bool> {
    PUNA_TRY(const std::string text, string_or(&affix, "", "what a string starts or ends with"));
    return part && (at_start ? part->text.starts_with(text) : part->text.ends_with(text));
  };
  if (!given[0]->is_tuple()) {
    PUNA_TRY(const bool found, fits(*given[0]));
    return Value(found);
  }
  for (const Value& each : given[0]->items()) {
    PUNA_TRY(const bool found, fits(each));
    if (found) return Value(true);
  }
  return Value(false);
}

template <bool from_right, bool must_be_there>
Result<Value> find(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sub", "start=", "end=", "/"}));
  PUNA_TRY(const std::string text, string_or(given[0], "", "what to find"));
  PUNA_TRY(evaluator.spend(self.weight()));
  PUNA_TRY(const auto part, part_of(self, given[1], given[2]));
  size_t at = std::string::npos;
  if (part) at = from_right ? part->text.rfind(text) : part->text.find(text);
  if (at != std::string::npos)
    return Value(part->offset + count_code_points(part->text.substr(0, at)));
  if (must_be_there) return refuse("the text to find is not there");
  return Value(-1);
}

Result<Value> count_text(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"sub", "start=", "end=", "/"}));
  PUNA_TRY(const std::string text, string_or(given[0], "", "what to count"));
  PUNA_TRY(evaluator.spend(self.weight()));
  PUNA_TRY(const auto part, part_of(self, given[1], given[2]));
  if (!part) return Value(0);
  if (text.empty()) return Value(count_code_points(part->text) + 1);
  int64_t n = 0;
  for (size_t at = 0; (at = part->text.find(text, at)) != std::string::npos; at += text.size()) ++n;
  return Value(n);
}

// ---- putting together

Result<Value> replace(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"old", "new", "count=", "/"}));
  PUNA_TRY(const std::string before, string_or(given[0], "", "what to replace"));
  PUNA_TRY(std::string after, string_or(given[1], "", "the replacement"));
  PUNA_TRY(const int64_t count, integer_or(given[2], -1, "the count of replace"));
  if (self.is_markup()) after = escaped_text(*given[1]);
  PUNA_TRY(std::string out, replaced(evaluator, self.string(), before, after, count));
  return text_like(evaluator, self, std::move(out));
}

Result<Value> join(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"items", "/"}));
  PUNA_TRY(const auto items, items_of(evaluator, *given[0]));
  std::string out;
  for (size_t i = 0; i < items->items.size(); ++i) {
    const Value& item = items->items[i];
    if (!item.is_string() && !self.is_markup())
      return refuse(
          fmt::format("join() works on strings, not on a value of type {}", item.type_name()));
    PUNA_TRY(evaluator.spend(1 + item.weight() + self.string().size() / 8));
    if (i > 0) out += self.string();
    out += self.is_markup() ? escaped_text(item) : item.string();
  }
  return text_like(evaluator, self, std::move(out));
}

// ljust, rjust and center.
template <char side>
Result<Value> justified(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"width", "fillchar=", "/"}));
  PUNA_TRY(const int64_t width, integer_or(given[0], 0, "the width"));
  PUNA_TRY(std::string fill, string_or(given[1], " ", "what to fill with"));
  if (self.is_markup() && given[1]) fill = escaped_text(*given[1]);
  if (count_code_points(fill) != 1) return refuse("what to fill with is one character");
  PUNA_TRY(evaluator.spend(self.weight()));
  const int64_t gap = width - count_code_points(self.string());
  if (gap <= 0) return self;
  PUNA_TRY(evaluator.spend(static_cast<uint64_t>(gap) / 8 * fill.size()));
  // As Python does: an odd gap is larger on the left when the width is odd.
  const int64_t left = side == 'l' ? 0 : side == 'r' ? gap : gap / 2 + (gap & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += self.string();
  for (int64_t i = left; i < gap; ++i) out += fill;
  return text_like(evaluator, self, std::move(out));
}

Result<Value> zero_filled(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"width", "/"}));
  PUNA_TRY(const int64_t width, integer_or(given[0], 0, "the width"));
  PUNA_TRY(evaluator.spend(self.weight()));
  std::string text = self.string();
  const int64_t gap = width - count_code_points(text);
  if (gap <= 0) return self;
  PUNA_TRY(evaluator.spend(static_cast<uint64_t>(gap) / 8));
  const bool sign = text.starts_with('-') || text.starts_with('+');
  text.insert(sign ? 1 : 0, static_cast<size_t>(gap), '0');
  return text_like(evaluator, self, std::move(text));
}

Result<Value> tabs_expanded(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"tabsize="}));
  PUNA_TRY(const int64_t size, integer_or(given[0], 8, "the size of a tab"));
  std::string out;
  int64_t column = 0;
  for (const std::string_view piece : split_code_points(self.string())) {
    if (piece == "\t") {
      const int64_t n = size > 0 ? size - column % size : 0;
      PUNA_TRY(evaluator.spend(static_cast<uint64_t>(n) / 8));
      out.append(static_cast<size_t>(n), ' ');
      column += n;
    } else {
      out += piece;
      column = piece == "\n" || piece == "\r" ? 0 : column + 1;
    }
  }
  return text_like(evaluator, self, std::move(out));
}

// str.maketrans(from, to, remove) or of a dict: a dict of code points.
Result<Value> make_table(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"x", "y=", "z=", "/"}));
  std::vector<std::pair<Value, Value>> entries;
  const auto put = [&](std::string_view key, Value value) -> Result<void> {
    PUNA_TRY(evaluator.spend(1 + entries.size()));
    const Value code(static_cast<int64_t>(code_point_at(key, 0).value));
    const auto same = std::ranges::find(entries, code, &std::pair<Value, Value>::first);
    if (same != entries.end()) {
      same->second = std::move(value);
    } else {
      entries.emplace_back(code, std::move(value));
    }
    return {};
  };
  if (!given[1]) {
    if (!given[0]->is_dict()) return refuse("maketrans() of one argument wants a dict");
    for (const auto& [key, value] : given[0]->dict().entries) {
      if (key.is_integer()) {
        entries.emplace_back(key, value);
      } else if (key.is_string() && count_code_points(key.string()) == 1) {
        PUNA_TRY(put(key.string(), value));
      } else {
        return refuse("the keys of maketrans() are single characters");
      }
    }
    return Value::dict(std::move(entries));
  }
  PUNA_TRY(const std::string from, string_or(given[0], "", "the characters of maketrans()"));
  PUNA_TRY(const std::string to, string_or(given[1], "", "the characters of maketrans()"));
  PUNA_TRY(const std::string removed, string_or(given[2], "", "the characters of maketrans()"));
  const auto keys = split_code_points(from), values = split_code_points(to);
  if (keys.size() != values.size()) return refuse("maketrans() wants texts of the same length");
  for (size_t i = 0; i < keys.size(); ++i)
    PUNA_TRY(put(keys[i], static_cast<int64_t>(code_point_at(values[i], 0).value)));
  for (const std::string_view key : split_code_points(removed)) PUNA_TRY(put(key, Value::None{}));
  return Value::dict(std::move(entries));
}

Result<Value> translated(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"table", "/"}));
  if (!given[0]->is_dict()) return refuse("translate() wants a dict");
  std::string out;
  for (const std::string_view piece : split_code_points(self.string())) {
    PUNA_TRY(evaluator.spend(1 + given[0]->dict().entries.size()));
    const Value* to =
        given[0]->dict().find(Value(static_cast<int64_t>(code_point_at(piece, 0).value)));
    if (!to) {
      out += piece;
    } else if (to->is_string()) {
      PUNA_TRY(evaluator.spend(to->weight()));
      out += to->string();
    } else if (to->is_integer() && to->integer() >= 0 && to->integer() <= 0x10FFFF) {
      append_utf8(out, static_cast<uint32_t>(to->integer()));
    } else if (!to->is_none()) {
      return refuse("the values of a table of translate() are characters");
    }
  }
  return text_like(evaluator, self, std::move(out));
}

Result<Value> format_map(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(const auto given, bind(arguments, {"mapping", "/"}));
  if (!given[0]->is_dict()) return refuse("format_map() wants a dict");
  Arguments named;
  for (const auto& [key, value] : given[0]->dict().entries) {
    if (key.is_string()) named.named.emplace_back(key.string(), value);
  }
  return brace_format(evaluator, self, named);
}

Result<Value> encode(Evaluator&, const Value&, const Arguments&) {
  return refuse("encode() is not supported, as there are no values of type bytes");
}

// ---- questions

template <bool (*holds)(uint32_t), bool of_nothing = false>
Result<Value> all_are(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(self.weight()));
  const std::string& text = self.string();
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!holds(c.value)) return Value(false);
    i += c.bytes;
  }
  return Value(of_nothing || !text.empty());
}

bool is_letter_or_number(uint32_t c) { return is_letter(c) || is_in(kNumerics, c); }
bool is_digit(uint32_t c) { return is_in(kDigits, c); }
bool is_numeric(uint32_t c) { return is_in(kNumerics, c); }
bool is_ascii(uint32_t c) { return c < 0x80; }

template <bool (*of_text)(std::string_view)>
Result<Value> is_so(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  PUNA_TRY(bind(arguments, {}));
  PUNA_TRY(evaluator.spend(self.weight()));
  return Value(of_text(self.string()));
}

bool is_title(std::string_view text) {
  bool inside = false, any = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (is_upper(c.value) ? inside : is_lower(c.value) && !inside) return false;
    inside = is_upper(c.value) || is_lower(c.value);
    any |= inside;
    i += c.bytes;
  }
  return any;
}

bool is_identifier(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!is_letter(c.value) && c.value != '_' && (i == 0 || !is_decimal(c.value))) return false;
    i += c.bytes;
  }
  return !text.empty();
}

constexpr NamedMethod kMethods[] = {
    {"capitalize", changed<capitalize>},
    {"casefold", changed<case_folded>},
    {"center", justified<'c'>},
    {"count", count_text},
    {"encode", encode},
    {"endswith", has_end<false>},
    {"expandtabs", tabs_expanded},
    {"find", find<false, false>},
    {"format", brace_format},
    {"format_map", format_map},
    {"index", find<false, true>},
    {"isalnum", all_are<is_letter_or_number>},
    {"isalpha", all_are<is_letter>},
    {"isascii", all_are<is_ascii, true>},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"isidentifier", is_so<is_identifier>},
    {"islower", is_so<is_lower_text>},
    {"isnumeric", all_are<is_numeric>},
    {"isprintable", all_are<is_printable, true>},
    {"isspace", all_are<is_space>},
    {"istitle", is_so<is_title>},
    {"isupper", is_so<is_upper_text>},
    {"join", join},
    {"ljust", justified<'l'>},
    {"lower", changed<to_lower>},
    {"lstrip", strip<trim_left>},
    {"maketrans", make_table},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justified<'r'>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<trim_right>},
    {"split", split<false>},
    {"splitlines", lines},
    {"startswith", has_end<true>},
    {"strip", strip<trim>},
    {"swapcase", changed<swap_case>},
    {"title", changed<title_case>},
    {"translate", translated},
    {"upper", changed<to_upper>},
    {"zfill", zero_filled},
};

}  // namespace

std::span<const NamedMethod> string_methods() { return kMethods; }

Result<std::string> replaced(Evaluator& evaluator, std::string_view text, std::string_view before,
                             std::string_view after, int64_t count) {
  PUNA_TRY(evaluator.spend(1 + text.size() / 8));
  int64_t left = count < 0 ? std::numeric_limits<int64_t>::max() : count;
  std::string out;
  size_t at = 0;
  while (left > 0) {
    const size_t found = before.empty() ? at : text.find(before, at);
    if (found == std::string::npos) break;
    PUNA_TRY(evaluator.spend(1 + after.size() / 8));
    out.append(text, at, found - at);
    out += after;
    --left;
    at = found + before.size();
    if (!before.empty()) continue;
    // An empty text stands before every character and at the end.
    if (at >= text.size()) break;
    const size_t bytes = code_point_at(text, at).bytes;
    out.append(text, at, bytes);
    at += bytes;
  }
  if (at < text.size()) out.append(text, at);
  return out;
}

}  // namespace puna::chat::jinja
