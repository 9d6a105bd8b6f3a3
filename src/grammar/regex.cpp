#include "grammar/regex.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "base/hex.h"
#include "base/utf8.h"
#include "grammar/cursor.h"
#include "grammar/regex_tables.h"

namespace puna::grammar {

namespace {

using tokenizer::CharSet;
using namespace regex_tables;

// What matches, by whether it has to begin where the text begins, and to end where that ends.
struct Anchored {
  std::array<std::array<Expression, 2>, 2> of{};
};

class RegexParser : Cursor {
 public:
  RegexParser(Expressions& expressions, std::string_view text, const Limits& limits)
      : Cursor(text, "regular expression", limits), e_(expressions) {}

  base::Result<Expression> parse(RegexFit fit) {
    PUNA_TRY(check_text());
    PUNA_TRY(const Anchored all, choice(0));
    if (at_ < text_.size()) return fail("A \")\" without a \"(\" before it.");
    const Expression any = e_.repeat(e_.any_character(), 0, kUnbounded);
    std::vector<Expression> parts;
    for (const bool begin : {false, true}) {
      for (const bool end : {false, true}) {
        const Expression inner = all.of[begin][end];
        if (fit == RegexFit::kWhole) {
          parts.push_back(inner);
        } else {
          parts.push_back(e_.sequence({begin ? e_.empty() : any, inner, end ? e_.empty() : any}));
        }
      }
    }
    return e_.choice(parts);
  }

 private:
  struct Flags {
    bool fold = false;
    bool dot_all = false;
  };

  std::unexpected<base::Error> refuse(std::string_view what) const {
    return error_at(text_, at_, fmt::format("{} is not carried out.", what),
                    base::ErrorCode::kUnsupported);
  }

  Anchored free(Expression e) const {
    Anchored out;
    out.of[0][0] = e;
    return out;
  }
  Anchored anchor(bool begin, bool end) const {
    Anchored out;
    out.of[begin][end] = e_.empty();
    return out;
  }
  bool is_free(const Anchored& a) const {
    return e_.is_nothing(a.of[0][1]) && e_.is_nothing(a.of[1][0]) && e_.is_nothing(a.of[1][1]);
  }
  void put(Expression& to, Expression what) { to = e_.choice({to, what}); }

  // x, then y. Behind an end of the text is only the empty text, and so before its beginning.
  Anchored join(const Anchored& x, const Anchored& y) {
    if (is_free(x) && is_free(y)) return free(e_.sequence({x.of[0][0], y.of[0][0]}));
    Anchored out;
    for (const bool xb : {false, true}) {
      for (const bool xe : {false, true}) {
        for (const bool yb : {false, true}) {
          for (const bool ye : {false, true}) {
            Expression left = x.of[xb][xe], right = y.of[yb][ye];
            if (xe && !e_.is_nothing(right)) right = e_.nullable(right) ? e_.empty() : e_.nothing();
            if (yb && !e_.is_nothing(left)) left = e_.nullable(left) ? e_.empty() : e_.nothing();
            put(out.of[xb || yb][xe || ye], e_.sequence({left, right}));
          }
        }
      }
    }
    return out;
  }

  base::Result<Anchored> choice(uint32_t depth) {
    if (depth > limits_.depth)
      return over_limit(fmt::format("{}The groups in groups are", place()), limits_.depth, "depth");
    const Flags outside = flags_;
    std::vector<std::array<Expression, 4>> branches;
    do {
      PUNA_TRY(const Anchored branch, sequence(depth));
      branches.push_back({branch.of[0][0], branch.of[0][1], branch.of[1][0], branch.of[1][1]});
    } while (eat("|"));
    flags_ = outside;
    Anchored out;
    std::vector<Expression> parts;
    for (size_t i = 0; i < 4; ++i) {
      parts.clear();
      for (const auto& branch : branches) parts.push_back(branch[i]);
      out.of[i / 2][i % 2] = e_.choice(parts);
    }
    return out;
  }

  std::string place() const { return error_at(text_, at_, "").error().message; }

  base::Result<Anchored> sequence(uint32_t depth) {
    std::vector<Anchored> parts;
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      if (e_.n_nodes() > limits_.expressions)
        return over_limit("The expressions of the grammar have", limits_.expressions,
                          "expressions");
      PUNA_TRY(Anchored part, atom(depth));
      PUNA_TRY(part, counts(part));
      parts.push_back(part);
    }
    // From the end, so that no part is taken apart again.
    Anchored out = free(e_.empty());
    for (size_t i = parts.size(); i-- > 0;) out = join(parts[i], out);
    return out;
  }

  base::Result<Anchored> counts(Anchored part) {
    uint32_t least = 0, most = 0;
    const size_t at = at_;
    if (eat("*")) {
      most = kUnbounded;
    } else if (eat("+")) {
      least = 1;
      most = kUnbounded;
    } else if (eat("?")) {
      most = 1;
    } else if (sees("{")) {
      PUNA_TRY(const bool is_count, braces(least, most));
      if (!is_count) return part;
    } else {
      return part;
    }
    eat("?");  // lazy: the same texts match
    if (sees("+")) return refuse("A possessive count");
    if (sees("*") || sees("?")) return fail("A count of a count.");
    if (is_free(part)) return free(e_.repeat(part.of[0][0], least, most));
    if (most == 1 || (least <= 1 && most >= 1 && is_empty_only(part))) {
      // An anchor that may hold or not, or holds however often.
      if (least == 0) put(part.of[0][0], e_.empty());
      return part;
    }
    at_ = at;
    return refuse("A repeated anchor");
  }

  // Whether only the empty text can match.
  bool is_empty_only(const Anchored& part) const {
    for (const auto& row : part.of) {
      for (const Expression e : row) {
        if (!e_.is_nothing(e) && e != e_.empty()) return false;
      }
    }
    return true;
  }

  // {m}, {m,} or {m,n}; false where the brace is a character.
  base::Result<bool> braces(uint32_t& least, uint32_t& most) {
    const size_t begin = at_++;
    const auto low = number();
    std::optional<uint64_t> high = low;
    if (eat(",")) {
      high = number();
      if (!high && low) high = kUnbounded;
    }
    if (!low && high && sees("}")) {
      at_ = begin;
      return refuse("A count without its lower bound, which some read as text,");
    }
    if (!low || !high || !eat("}")) {
      at_ = begin;
      return false;
    }
    const size_t end = at_;
    at_ = begin;
    if (*low >= kUnbounded) return fail("A count is less than 4294967295.");
    if (*low > *high) return fail("The bounds of a count are out of order.");
    at_ = end;
    least = static_cast<uint32_t>(*low);
    most = static_cast<uint32_t>(*high);
    return true;
  }

  Expression characters(CharSet set) {
    if (flags_.fold) set.fold();
    return e_.characters(set);
  }

  base::Result<Anchored> atom(uint32_t depth) {
    for (const RefusedRow& row : kRefused) {
      if (sees(row.begin)) return refuse(row.name);
    }
    switch (text_[at_]) {
      case '^':
        ++at_;
        return anchor(true, false);
      case '$':
        ++at_;
        return anchor(false, true);
      case '(':
        return group(depth);
      case '[': {
        PUNA_TRY(const CharSet set, char_class());
        return free(e_.characters(set));
      }
      case '.':
        ++at_;
        return free(flags_.dot_all ? e_.any_character() : e_.characters(negated(line_ends())));
      case '*':
      case '+':
      case '?':
        return fail("A count without something to repeat.");
      case '\\':
        if (eat("\\A")) return anchor(true, false);
        if (eat("\\z") || eat("\\Z")) return anchor(false, true);
        break;
      default:
        break;
    }
    PUNA_TRY(CharSet set, one(/*in_class=*/false));
    return free(characters(std::move(set)));
  }

  base::Result<Anchored> group(uint32_t depth) {
    const size_t begin = at_++;
    const Flags outside = flags_;
    if (eat("?")) {
      if (eat("<") || eat("P<")) {
        while (more() && text_[at_] != '>' && text_[at_] != ')') ++at_;
        if (!eat(">")) {
          at_ = begin;
          return fail("The name of a group does not end.");
        }
      } else if (!eat(":")) {
        PUNA_TRY(const bool only_flags, flags(begin));
        // Until the end of the group around it.
        if (only_flags) return free(e_.empty());
      }
    }
    PUNA_TRY(Anchored inner, choice(depth + 1));
    flags_ = outside;
    if (!eat(")")) {
      at_ = begin;
      return fail("A \"(\" without a \")\" behind it.");
    }
    return inner;
  }

  // (?i) or (?i: and the like, behind the question mark; whether nothing but flags is in there.
  base::Result<bool> flags(size_t begin) {
    bool on = true;
    for (; more() && text_[at_] != ')' && text_[at_] != ':'; ++at_) {
      switch (text_[at_]) {
        case '-':
          on = false;
          break;
        case 'i':
          flags_.fold = on;
          break;
        case 's':
          flags_.dot_all = on;
          break;
        case 'u':
          break;
        default: {
          const std::string name(text_.substr(at_, base::utf8_next(text_, at_).bytes));
          at_ = begin;
          return refuse(fmt::format("The flag \"{}\"", name));
        }
      }
    }
    const bool only = sees(")");
    if (!eat(")") && !eat(":")) {
      at_ = begin;
      return fail("A \"(\" without a \")\" behind it.");
    }
    return only;
  }

  base::Result<char32_t> hex(uint32_t digits) {
    char32_t value = 0;
    for (uint32_t i = 0; i < digits; ++i, ++at_) {
      const int digit = more() ? base::hex_digit(text_[at_]) : -1;
      if (digit < 0) return fail(fmt::format("Here {} hexadecimal digits are wanted.", digits));
      value = value * 16 + static_cast<char32_t>(digit);
    }
    return value;
  }

  // Behind "\x" or "\u".
  base::Result<char32_t> code_point(bool is_u) {
    const size_t begin = at_;
    char32_t value = 0;
    if (eat("{")) {
      while (more() && text_[at_] != '}') {
        PUNA_TRY(const char32_t digit, hex(1));
        value = std::min<char32_t>(value * 16 + digit, CharSet::kLast + 1);
      }
      if (!eat("}") || at_ == begin + 2) {
        at_ = begin;
        return fail("A \"{\" of a code point does not end, or nothing is in it.");
      }
    } else {
      PUNA_TRY(value, hex(is_u ? 4 : 2));
      // Two halves of a character beyond the first 65,536.
      if (is_u && value >= 0xD800 && value < 0xDC00 && eat("\\u")) {
        PUNA_TRY(const char32_t low, hex(4));
        if (low >= 0xDC00 && low < 0xE000)
          return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
      }
    }
    if (value > CharSet::kLast || (value >= 0xD800 && value < 0xE000)) {
      at_ = begin;
      return fail("There is no character of this code point.");
    }
    return value;
  }

  // A character or an escape that stands for one or for several.
  base::Result<CharSet> one(bool in_class) {
    const auto single = [](char32_t c) { return CharSet(c, c); };
    if (text_[at_] != '\\') {
      const base::Utf8Unit unit = base::utf8_next(text_, at_);
      at_ += unit.bytes;
      return single(unit.code_point);
    }
    const size_t begin = at_++;
    if (!more()) {
      at_ = begin;
      return fail("A backslash with nothing behind it.");
    }
    const char letter = text_[at_++];
    for (const ClassRow& row : kClasses) {
      if (row.letter == letter) return row.negated ? negated(row.set()) : row.set();
    }
    for (const CharacterRow& row : kControlCharacters) {
      if (row.letter == letter) return single(row.character);
    }
    if (in_class && letter == 'b') return single('\b');
    if (letter == 'x' || letter == 'u') {
      PUNA_TRY(const char32_t c, code_point(letter == 'u'));
      return single(c);
    }
    if (letter == 'c' && more() && (text_[at_] | 0x20) >= 'a' && (text_[at_] | 0x20) <= 'z')
      return single(static_cast<char32_t>(text_[at_++] & 0x1F));
    if (letter == 'p' || letter == 'P') return property(letter == 'P', begin);
    if (letter == '0' && !(more() && text_[at_] >= '0' && text_[at_] <= '9')) return single(0);
    if (letter >= '0' && letter <= '9') {
      at_ = begin;
      return refuse(letter == '0' ? "An octal escape" : "A back-reference");
    }
    if ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z') {
      at_ = begin;
      return refuse(fmt::format("The escape \\{}", letter));
    }
    // Anything else stands for itself, however many bytes it has.
    --at_;
    const base::Utf8Unit unit = base::utf8_next(text_, at_);
    at_ += unit.bytes;
    return single(unit.code_point);
  }

  // Behind "\p" or "\P".
  base::Result<CharSet> property(bool negate, size_t begin) {
    std::string_view name = text_.substr(at_, 1);
    if (eat("{")) {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) {
        at_ = begin;
        return fail("The name of a property does not end.");
      }
      name = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      at_ += name.size();
    }
    if (name.starts_with('^')) {
      negate = !negate;
      name.remove_prefix(1);
    }
    const std::string said(name);
    if (const size_t equals = name.find('='); equals != std::string_view::npos)
      name.remove_prefix(equals + 1);
    auto set = CharSet::named(name);
    if (!set || name.find(':') != std::string_view::npos) {
      at_ = begin;
      return refuse(fmt::format("The property \"{}\"", said));
    }
    if (negate) set->negate();
    return *std::move(set);
  }

  base::Result<CharSet> char_class() {
    const size_t begin = at_++;
    const bool negate = eat("^");
    if (sees("]")) return refuse("An empty class, which some read as one that holds a bracket,");
    CharSet out;
    while (more() && text_[at_] != ']') {
      if (sees("[:")) {
        PUNA_TRY(const CharSet named, posix_class());
        out.add(named);
        continue;
      }
      const size_t at = at_;
      PUNA_TRY(CharSet low, one(/*in_class=*/true));
      const bool is_range = sees("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (!is_range) {
        out.add(low);
        continue;
      }
      ++at_;
      PUNA_TRY(const CharSet high, one(/*in_class=*/true));
      const auto single = [](const CharSet& set) {
        return set.ranges().size() == 1 && set.ranges()[0].low == set.ranges()[0].high;
      };
      if (!single(low) || !single(high)) {
        // A class at the end of a range: the dash stands for itself.
        out.add(low);
        out.add(CharSet('-', '-'));
        out.add(high);
        continue;
      }
      if (low.ranges()[0].low > high.ranges()[0].low) {
        at_ = at;
        return fail("The bounds of a range are out of order.");
      }
      out.add(CharSet(low.ranges()[0].low, high.ranges()[0].low));
    }
    if (!eat("]")) {
      at_ = begin;
      return fail("A \"[\" without a \"]\" behind it.");
    }
    if (flags_.fold) out.fold();
    if (negate) out.negate();
    return out;
  }

  // [:alpha:] and the like, inside a class.
  base::Result<CharSet> posix_class() {
    const size_t end = text_.find(":]", at_ + 2);
    const std::string_view name =
        end == std::string_view::npos ? std::string_view() : text_.substr(at_ + 2, end - at_ - 2);
    auto set = CharSet::named(fmt::format("posix:{}", name));
    if (name.empty() || !set) return refuse("What begins like a POSIX class, but is none,");
    at_ = end + 2;
    return *std::move(set);
  }

  Expressions& e_;
  Flags flags_;
};

}  // namespace

base::Result<Expression> regex_expression(Expressions& expressions, std::string_view regex,
                                          RegexFit fit, const Limits& limits) {
  return RegexParser(expressions, regex, limits).parse(fit);
}

base::Result<std::shared_ptr<const Grammar>> regex_grammar(std::string_view regex,
                                                           const Limits& limits) {
  Builder builder(limits);
  PUNA_TRY(const Expression whole,
           regex_expression(builder.expressions(), regex, RegexFit::kWhole, limits));
  const Symbol start = builder.lexeme(whole, "the regular expression");
  return std::move(builder).build(start);
}

}  // namespace puna::grammar
