// The compiler of split expressions: recursive descent, straight into SplitExpression's tables.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "tokenizer/split.h"
#include "tokenizer/unicode.h"

namespace puna::tokenizer {

namespace {

constexpr uint32_t bit(CharClass c) { return 1u << static_cast<uint32_t>(c); }
constexpr uint32_t kCased =
    bit(CharClass::kUpper) | bit(CharClass::kLower) | bit(CharClass::kTitle);
constexpr uint32_t kLetters = kCased | bit(CharClass::kModifier) | bit(CharClass::kOtherLetter);
constexpr uint32_t kSpaces = bit(CharClass::kSeparator) | bit(CharClass::kSpaceControl);
constexpr uint32_t kUnbounded = static_cast<uint32_t>(-1);

struct Property {
  std::string_view name;
  uint32_t classes;
};
constexpr Property kProperties[] = {
    {"L", kLetters},
    {"Lu", bit(CharClass::kUpper)},
    {"Ll", bit(CharClass::kLower)},
    {"Lt", bit(CharClass::kTitle)},
    {"Lm", bit(CharClass::kModifier)},
    {"Lo", bit(CharClass::kOtherLetter)},
    {"M", bit(CharClass::kMark)},
    {"N", bit(CharClass::kNumber)},
    {"P", bit(CharClass::kPunctuation)},
    {"S", bit(CharClass::kSymbol)},
};

// Letters outside ASCII that fold to an ASCII letter, for (?i:...).
struct Fold {
  char lower;
  char32_t other;
};
constexpr Fold kFolds[] = {{'s', 0x17F}, {'k', 0x212A}};

struct Set {
  uint32_t classes = 0;
  std::vector<std::pair<char32_t, char32_t>> ranges;
  bool negated = false;
  bool operator==(const Set&) const = default;
};

}  // namespace

class SplitCompiler {
 public:
  explicit SplitCompiler(std::string_view expression) : text_(expression) {}

  base::Result<SplitExpression> run() {
    if (text_.size() > kLongestExpressionBytes) return wrong("more than 65536 bytes");
    do {
      SplitExpression::Branch branch;
      while (at_ < text_.size() && text_[at_] != '|') PUNA_TRY(item(branch));
      if (branch.items.empty()) return wrong("an empty alternative");
      if (branch.items[0].kind == Item::kNotBefore || branch.items[0].kind == Item::kLineEnd)
        return wrong("a condition at the beginning");
      if (matches_nothing(branch.items)) return wrong("an alternative that can match nothing");
      out_.branches_.push_back(std::move(branch));
    } while (take('|'));
    for (auto& branch : out_.branches_) branch.first = first_sets(branch.items);
    return std::move(out_);
  }

 private:
  using Item = SplitExpression::Item;

  std::unexpected<base::Error> wrong(std::string_view what) const {
    return base::fail(
        base::ErrorCode::kInternal,
        fmt::format("The split expression {} has {} at byte {}, which is not understood.", text_,
                    what, at_));
  }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool take(char c) { return take(std::string_view(&c, 1)); }

  bool matches_nothing(std::span<const Item> items) const {
    return std::all_of(items.begin(), items.end(), [&](const Item& item) {
      if (item.kind == Item::kNotBefore || item.kind == Item::kLineEnd || item.least == 0)
        return true;
      if (item.kind != Item::kGroup) return false;
      const auto& alternatives = out_.groups_[item.group];
      return std::any_of(alternatives.begin(), alternatives.end(),
                         [](const auto& alternative) { return alternative.empty(); });
    });
  }

  base::Result<bool> item(SplitExpression::Branch& branch) {
    if (branch.items.size() == SplitExpression::kMaxItems)
      return wrong("more than 100 items in an alternative");
    Item item;
    if (take("(?!")) {
      item.kind = Item::kNotBefore;
      PUNA_TRY(item.set, set());
      if (!take(')')) return wrong("a long lookahead");
      branch.items.push_back(item);
      return true;
    }
    if (take('$')) {
      item.kind = Item::kLineEnd;
      branch.items.push_back(item);
      return true;
    }
    const bool any_case = take("(?i:");
    if (any_case || take("(?:")) {
      item.kind = Item::kGroup;
      item.group = static_cast<uint32_t>(out_.groups_.size());
      PUNA_TRY(auto alternatives, group(any_case));
      out_.groups_.push_back(std::move(alternatives));
    } else {
      PUNA_TRY(item.set, set());
    }
    PUNA_TRY(repeat(item));
    if (item.kind == Item::kGroup && item.most != 1) return wrong("a repeated group");
    branch.items.push_back(item);
    return true;
  }

  base::Result<std::vector<std::vector<uint32_t>>> group(bool any_case) {
    std::vector<std::vector<uint32_t>> alternatives(1);
    while (!take(')')) {
      if (at_ == text_.size()) return wrong("an open group");
      if (take('|')) {
        alternatives.emplace_back();
        continue;
      }
      PUNA_TRY(Set one, character_or_set());
      if (any_case) PUNA_TRY(fold(one));
      PUNA_TRY(const uint32_t mask, mask_of(one));
      alternatives.back().push_back(mask);
    }
    return alternatives;
  }

  base::Result<bool> repeat(Item& item) {
    bool counted = false;
    if (take('?')) {
      item.least = 0;
    } else if (take('*')) {
      item.least = 0;
      item.most = kUnbounded;
    } else if (take('+')) {
      item.most = kUnbounded;
    } else if (take('{')) {
      counted = true;
      PUNA_TRY(item.least, number());
      item.most = item.least;
      if (text_.substr(at_).starts_with(",}")) {
        ++at_;
        item.most = kUnbounded;
      } else if (take(',')) {
        PUNA_TRY(item.most, number());
      }
      if (!take('}') || item.most < item.least || item.most == 0) return wrong("a bad repeat");
    }
    // Behind a counted repeat another "+" repeats it again.
    if ((item.least != 1 || item.most != 1) && !counted) item.possessive = take('+');
    if (at_ < text_.size() &&
        (text_[at_] == '?' || text_[at_] == '+' || text_[at_] == '*' || text_[at_] == '{'))
      return wrong("a lazy repeat or a repeat of a repeat");
    return true;
  }

  base::Result<uint32_t> number() {
    uint32_t value = 0;
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value < 1000)
      value = value * 10 + static_cast<uint32_t>(text_[at_++] - '0');
    if (at_ == start) return wrong("no number");
    return value;
  }

  base::Result<uint32_t> set() {
    PUNA_TRY(const Set one, character_or_set());
    return mask_of(one);
  }

  base::Result<Set> character_or_set() {
    Set set;
    if (!take('[')) {
      if (at_ < text_.size() &&
          std::string_view("()|?*+{}.^$").find(text_[at_]) != std::string_view::npos)
        return wrong("an operator");
      PUNA_TRY(member(set));
      return set;
    }
    set.negated = take('^');
    if (text_.substr(at_).starts_with(']')) return wrong("a bracket at the beginning of a set");
    while (!take(']')) {
      if (at_ == text_.size()) return wrong("an open set");
      if (text_[at_] == '[' || text_.substr(at_).starts_with("&&")) return wrong("a set in a set");
      PUNA_TRY(member(set));
    }
    return set;
  }

  // One character, range, escape or property.
  base::Result<bool> member(Set& set) {
    if (take("\\s")) {
      if (text_.substr(at_).starts_with('-') && !text_.substr(at_).starts_with("-]"))
        return wrong("a range that begins with a class");
      set.classes |= kSpaces;
      return true;
    }
    if (take("\\S")) {
      if (set.classes != 0 || !set.ranges.empty()) return wrong("\\S inside a set");
      set.classes = kSpaces;
      set.negated = !set.negated;
      return true;
    }
    if (take("\\p{")) {
      for (const Property& property : kProperties) {
        if (text_.substr(at_).starts_with(property.name) &&
            text_.substr(at_ + property.name.size()).starts_with('}')) {
          at_ += property.name.size() + 1;
          set.classes |= property.classes;
          return true;
        }
      }
      return wrong("a property");
    }
    PUNA_TRY(const char32_t low, character());
    char32_t high = low;
    if (text_.substr(at_).starts_with('-') && !text_.substr(at_).starts_with("-]")) {
      ++at_;
      PUNA_TRY(high, character());
    }
    if (high < low) return wrong("a range that runs backwards");
    set.ranges.emplace_back(low, high);
    return true;
  }

  base::Result<char32_t> character() {
    if (take("\\r")) return U'\r';
    if (take("\\n")) return U'\n';
    if (take('\\')) {
      // A letter or digit after a backslash would mean something that is not known here.
      if (at_ == text_.size() ||
          class_of(static_cast<unsigned char>(text_[at_])) < CharClass::kPunctuation)
        return wrong("an escape");
    }
    if (at_ == text_.size()) return wrong("no character");
    const base::Utf8Unit unit = base::utf8_next(text_, at_);
    if (unit.code_point == base::kInvalidCodePoint) return wrong("broken UTF-8");
    at_ += unit.bytes;
    return unit.code_point;
  }

  // Letters beyond ASCII, ranges, and "ss", "fi" and the like, which one character can stand for,
  // are left to the general matcher.
  base::Result<void> fold(Set& set) const {
    constexpr std::string_view kPairs[] = {"ss", "ff", "fi", "fl", "st"};
    const auto ranges = set.ranges;
    if (set.classes != 0 || set.negated) return wrong("a class without case");
    for (const auto& [low, high] : ranges) {
      if (low != high || low >= 0x80) return wrong("other letters than a to z without case");
      const auto lower = static_cast<char>(low | 0x20);
      if (lower < 'a' || lower > 'z') continue;
      const char before = at_ >= 2 ? static_cast<char>(text_[at_ - 2] | 0x20) : ' ';
      for (const std::string_view pair : kPairs) {
        if (before == pair[0] && lower == pair[1]) return wrong("two letters that are one too");
      }
      set.ranges.emplace_back(low ^ 0x20, low ^ 0x20);
      for (const Fold& f : kFolds) {
        if (f.lower == lower) set.ranges.emplace_back(f.other, f.other);
      }
    }
    return {};
  }

  base::Result<uint32_t> mask_of(const Set& set) {
    const auto known = std::find(sets_.begin(), sets_.end(), set);
    const auto index = static_cast<uint32_t>(known - sets_.begin());
    const uint32_t mask = 1u << (index & 31);
    if (known != sets_.end()) return mask;
    if (sets_.size() == SplitExpression::kMaxSets) return wrong("more than 32 different sets");
    sets_.push_back(set);
    for (char32_t c = 0; c < 128; ++c) {
      const bool named = std::any_of(set.ranges.begin(), set.ranges.end(),
                                     [&](const auto& r) { return c >= r.first && c <= r.second; });
      const bool in = named || (set.classes & bit(class_of(c))) != 0;
      if (in != set.negated) out_.ascii_[c] |= mask;
    }
    for (uint32_t c = 0; c < out_.classes_.size(); ++c) {
      if (((set.classes >> c & 1) != 0) != set.negated) out_.classes_[c] |= mask;
    }
    for (const auto& [low, high] : set.ranges) {
      if (high >= 128)
        out_.exceptions_.push_back({std::max<char32_t>(low, 128), high, mask, !set.negated});
    }
    return mask;
  }

  uint32_t first_sets(std::span<const Item> items) const {
    if (items.empty()) return 0;
    uint32_t first = items[0].set;
    if (items[0].kind == Item::kGroup) {
      first = 0;
      for (const auto& alternative : out_.groups_[items[0].group])
        first |= alternative.empty() ? 0 : alternative[0];
    }
    return items[0].least == 0 ? first | first_sets(items.subspan(1)) : first;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Set> sets_;
  SplitExpression out_;
};

base::Result<SplitExpression> SplitExpression::compile(std::string_view expression) {
  return SplitCompiler(expression).run();
}

}  // namespace puna::tokenizer
