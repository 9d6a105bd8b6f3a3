#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/hex.h"
#include "base/utf8.h"
#include "grammar/cursor.h"
#include "grammar/gbnf_tree.h"

namespace puna::grammar {

namespace {

using tokenizer::CharSet;
using Kind = GbnfTree::Kind;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser : Cursor {
 public:
  GbnfParser(std::string_view text, const Limits& limits) : Cursor(text, "grammar", limits) {}

  base::Result<GbnfTree> parse() {
    PUNA_TRY(check_text());
    skip_space(/*lines=*/true);
    while (more()) PUNA_TRY(rule());
    for (const GbnfTree::Rule& rule : out_.rules) {
      if (rule.body == kUnbounded)
        return error_at(text_, rule.first_use,
                        fmt::format("Rule \"{}\" is not defined.", rule.name));
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) return error_at(text_, 0, "There is no rule \"root\".");
    out_.root = root->second;
    return std::move(out_);
  }

 private:
  // Also comments. Without `lines`, up to the end of the line.
  void skip_space(bool lines) {
    for (; more(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        while (more() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
        if (!more()) return;
        --at_;
        continue;
      }
      const bool line_end = c == '\n' || c == '\r';
      if (c != ' ' && c != '\t' && !(lines && line_end)) return;
    }
  }

  uint32_t add(GbnfTree::Node node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }
  uint32_t add(Kind kind, std::vector<uint32_t> parts) {
    if (parts.size() == 1) return parts.front();
    GbnfTree::Node node;
    node.kind = kind;
    node.parts = std::move(parts);
    return add(std::move(node));
  }

  base::Result<uint32_t> rule_named(size_t begin) {
    const std::string name(text_.substr(begin, at_ - begin));
    const auto [at, is_new] = rules_.try_emplace(name, static_cast<uint32_t>(out_.rules.size()));
    if (is_new) {
      if (out_.rules.size() == limits_.rules)
        return over_limit("The rules of the grammar are", limits_.rules, "rules");
      out_.rules.push_back({name, kUnbounded, begin});
    }
    return at->second;
  }

  base::Result<void> rule() {
    const size_t begin = at_;
    while (more() && is_name(text_[at_])) ++at_;
    if (at_ == begin) return fail("The name of a rule is wanted.");
    PUNA_TRY(const uint32_t rule, rule_named(begin));
    if (out_.rules[rule].body != kUnbounded)
      return error_at(text_, begin,
                      fmt::format("Rule \"{}\" is defined twice.", out_.rules[rule].name));
    skip_space(/*lines=*/false);
    if (!eat("::=")) return fail("\"::=\" is wanted behind the name of a rule.");
    skip_space(/*lines=*/true);
    PUNA_TRY(out_.rules[rule].body, choice(/*depth=*/0));
    if (more() && text_[at_] != '\n' && text_[at_] != '\r')
      return fail("A part of a rule or the end of the line is wanted.");
    skip_space(/*lines=*/true);
    return {};
  }

  base::Result<uint32_t> choice(uint32_t depth) {
    std::vector<uint32_t> parts;
    do {
      skip_space(/*lines=*/true);
      PUNA_TRY(const uint32_t part, sequence(depth));
      parts.push_back(part);
    } while (eat("|"));
    return add(Kind::kChoice, std::move(parts));
  }

  // In parentheses a line end is white space. Elsewhere it ends the rule, except behind "|".
  base::Result<uint32_t> sequence(uint32_t depth) {
    std::vector<uint32_t> parts;
    for (;;) {
      skip_space(/*lines=*/depth > 0);
      if (!more() || std::string_view("|)\n\r").find(text_[at_]) != std::string_view::npos) break;
      PUNA_TRY(uint32_t part, atom(depth));
      PUNA_TRY(part, counts(part));
      parts.push_back(part);
    }
    return add(Kind::kSequence, std::move(parts));
  }

  base::Result<uint32_t> atom(uint32_t depth) {
    const size_t begin = at_;
    GbnfTree::Node node;
    if (eat("\"")) {
      node.kind = Kind::kLiteral;
      while (!eat("\"")) {
        if (!more() || text_[at_] == '\n') {
          at_ = begin;
          return fail("A text in quotes does not end.");
        }
        PUNA_TRY(const char32_t c, character());
        base::utf8_append(node.bytes, c);
      }
      return add(std::move(node));
    }
    if (eat("[")) {
      node.kind = Kind::kCharacters;
      PUNA_TRY(node.set, char_class(begin));
      return add(std::move(node));
    }
    if (eat(".")) {
      node.kind = Kind::kCharacters;
      node.set = CharSet(0, CharSet::kLast);
      return add(std::move(node));
    }
    if (eat("(")) {
      if (depth >= limits_.depth)
        return over_limit(fmt::format("{}The parentheses in parentheses are",
                                      error_at(text_, begin, "").error().message),
                          limits_.depth, "depth");
      PUNA_TRY(const uint32_t inner, choice(depth + 1));
      skip_space(/*lines=*/true);
      if (!eat(")")) {
        at_ = begin;
        return fail("A \"(\" without a \")\" behind it.");
      }
      return inner;
    }
    if (sees("<") || sees("!<"))
      return error_at(text_, at_, "A token as a part of a rule is not carried out.",
                      base::ErrorCode::kUnsupported);
    while (more() && is_name(text_[at_])) ++at_;
    if (at_ == begin) return fail("A part of a rule is wanted.");
    node.kind = Kind::kRule;
    PUNA_TRY(node.rule, rule_named(begin));
    return add(std::move(node));
  }

  base::Result<uint32_t> counts(uint32_t part) {
    for (uint32_t n = 0;; ++n) {
      skip_space(/*lines=*/false);
      GbnfTree::Node node;
      node.kind = Kind::kRepeat;
      if (eat("*")) {
        node.most = kUnbounded;
      } else if (eat("+")) {
        node.least = 1;
        node.most = kUnbounded;
      } else if (eat("?")) {
        node.most = 1;
      } else if (sees("{")) {
        PUNA_TRY(braces(node));
      } else {
        return part;
      }
      if (n == limits_.depth)
        return over_limit(
            fmt::format("{}The counts of counts are", error_at(text_, at_, "").error().message),
            limits_.depth, "depth");
      node.parts = {part};
      part = add(std::move(node));
    }
  }

  base::Result<void> braces(GbnfTree::Node& node) {
    const size_t begin = at_++;
    const auto bound = [&](uint32_t& out) -> base::Result<bool> {
      skip_space(/*lines=*/false);
      const size_t from = at_;
      const auto value = number();
      if (value && *value >= kUnbounded) {
        at_ = from;
        return fail("A count is less than 4294967295.");
      }
      if (value) out = static_cast<uint32_t>(*value);
      skip_space(/*lines=*/false);
      return value.has_value();
    };
    PUNA_TRY(const bool has_least, bound(node.least));
    node.most = node.least;
    bool has_most = false;
    if (eat(",")) {
      node.most = kUnbounded;
      PUNA_TRY(has_most, bound(node.most));
    }
    if (!eat("}") || (!has_least && !has_most)) {
      at_ = begin;
      return fail("A count is written {m}, {m,}, {m,n} or {,n}.");
    }
    if (node.least > node.most) {
      at_ = begin;
      return fail("The bounds of a count are out of order.");
    }
    return {};
  }

  base::Result<CharSet> char_class(size_t begin) {
    const bool negate = eat("^");
    CharSet out;
    while (!eat("]")) {
      if (!more()) {
        at_ = begin;
        return fail("A \"[\" without a \"]\" behind it.");
      }
      const size_t at = at_;
      PUNA_TRY(const char32_t low, character());
      char32_t high = low;
      if (sees("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        PUNA_TRY(high, character());
      }
      if (low > high) {
        at_ = at;
        return fail("The bounds of a range are out of order.");
      }
      out.add(CharSet(low, high));
    }
    if (negate) out.negate();
    return out;
  }

  // One character, or an escape that stands for one.
  base::Result<char32_t> character() {
    const size_t begin = at_;
    if (!eat("\\")) {
      const base::Utf8Unit unit = base::utf8_next(text_, at_);
      at_ += unit.bytes;
      return unit.code_point;
    }
    const char letter = more() ? text_[at_++] : '\0';
    switch (letter) {
      case 'x':
        return hex(2, begin);
      case 'u':
        return hex(4, begin);
      case 'U':
        return hex(8, begin);
      case 't':
        return U'\t';
      case 'r':
        return U'\r';
      case 'n':
        return U'\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(letter);
      default:
        at_ = begin;
        return fail("An escape is one of \\x \\u \\U \\t \\r \\n \\\\ \\\" \\[ \\] \\- \\^.");
    }
  }

  base::Result<char32_t> hex(uint32_t digits, size_t begin) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < digits; ++i, ++at_) {
      const int digit = more() ? base::hex_digit(text_[at_]) : -1;
      if (digit < 0) return fail(fmt::format("Here {} hexadecimal digits are wanted.", digits));
      value = value * 16 + static_cast<uint64_t>(digit);
    }
    if (value > CharSet::kLast || (value >= 0xD800 && value < 0xE000)) {
      at_ = begin;
      return fail("There is no character of this code point.");
    }
    return static_cast<char32_t>(value);
  }

  GbnfTree out_;
  std::unordered_map<std::string, uint32_t> rules_;
};

}  // namespace

base::Result<GbnfTree> parse_gbnf(std::string_view text, const Limits& limits) {
  return GbnfParser(text, limits).parse();
}

}  // namespace puna::grammar
