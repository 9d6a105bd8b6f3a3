// Recursive descent over Oniguruma's syntax.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/hex.h"
#include "base/utf8.h"
#include "tokenizer/match.h"
#include "tokenizer/regex/node.h"

namespace puna::tokenizer::regex {

namespace {

using base::Result;
using Kind = Node::Kind;

constexpr int kDeepest = 100;              // groups in groups
constexpr int kMostInARow = 4;             // repeats of one another without a group between them
constexpr uint32_t kMostRepeats = 100000;  // as in Oniguruma
constexpr size_t kShownBytes = 200;        // of an expression in an error

struct Options {
  bool any_case = false;
  bool dot_all = false;
  bool extended = false;
};

Node set_node(CharSet set) {
  Node node;
  node.kind = Kind::kSet;
  node.set = std::move(set);
  return node;
}

Node plain_node(Kind kind, bool negated = false) {
  Node node;
  node.kind = kind;
  node.negated = negated;
  return node;
}

Node parent_node(Kind kind, Node child) {
  Node node = plain_node(kind);
  node.children.push_back(std::move(child));
  return node;
}

CharSet known_set(std::string_view name, bool negated = false) {
  CharSet set = CharSet::named(name).value_or(CharSet());
  if (negated) set.negate();
  return set;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), has_named_groups_(names_groups(text)) {}

  Result<Parsed> run() {
    if (text_.size() > kLongestExpressionBytes) return unsupported(text_, "more than 65536 bytes");
    PUNA_TRY(out_.root, alternatives({}, 0));
    if (at_ < text_.size()) return wrong("a closing parenthesis without an opening one");
    return std::move(out_);
  }

 private:
  std::unexpected<base::Error> wrong(std::string_view what) const {
    return unsupported(text_, fmt::format("{} at byte {}", what, at_));
  }
  bool done() const { return at_ == text_.size(); }
  bool sees(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool take(std::string_view token) {
    if (!sees(token)) return false;
    at_ += token.size();
    return true;
  }
  Result<char32_t> next() {
    if (done()) return wrong("an end where a character is expected");
    const base::Utf8Unit unit = base::utf8_next(text_, at_);
    if (unit.code_point == base::kInvalidCodePoint) return wrong("broken UTF-8");
    at_ += unit.bytes;
    return unit.code_point;
  }

  Result<Node> alternatives(Options options, int depth) {
    if (depth > kDeepest) return wrong("more than 100 groups in one another");
    Node node = plain_node(Kind::kAlternatives);
    do {
      PUNA_TRY(Node one, sequence(options, depth));
      node.children.push_back(std::move(one));
    } while (take("|"));
    if (node.children.size() > 1) return node;
    Node only = std::move(node.children[0]);
    return only;
  }

  Result<Node> sequence(Options& options, int depth) {
    Node node = plain_node(Kind::kSequence);
    while (!done() && !sees("|") && !sees(")")) {
      if (options.extended && skip_blank()) continue;
      if (take("(?#")) {
        while (!done() && !sees(")")) ++at_;
        if (!take(")")) return wrong("an open comment");
        continue;
      }
      // Options without a group hold for the rest of this one, further alternatives included.
      PUNA_TRY(const bool isolated, isolated_options(options));
      if (isolated) {
        PUNA_TRY(Node rest, alternatives(options, depth + 1));
        node.children.push_back(std::move(rest));
        break;
      }
      PUNA_TRY(Node one, atom(options, depth));
      PUNA_TRY(one, repeats(std::move(one), options));
      node.children.push_back(std::move(one));
    }
    return node;
  }

  bool skip_blank() {
    if (take(" ") || take("\t") || take("\n") || take("\r") || take("\f") || take("\v"))
      return true;
    if (!take("#")) return false;
    while (!done() && !sees("\n")) ++at_;
    return true;
  }

  // (?i-x) without ":"; true when it stood here.
  Result<bool> isolated_options(Options& options) {
    if (!sees("(?") || at_ + 2 >= text_.size()) return false;
    const size_t close = text_.find_first_not_of("imx-", at_ + 2);
    if (close == at_ + 2 || close == std::string_view::npos || text_[close] != ')') return false;
    PUNA_TRY(options, option_letters(options, close));
    at_ = close + 1;
    return true;
  }
  Result<Options> option_letters(Options options, size_t end) {
    bool on = true;
    for (at_ += 2; at_ < end; ++at_) {
      switch (text_[at_]) {
        case '-':
          on = false;
          break;
        case 'i':
          options.any_case = on;
          break;
        case 'm':
          options.dot_all = on;
          break;
        default:
          options.extended = on;
      }
    }
    return options;
  }

  Result<Node> closed(Kind kind, Options options, int depth) {
    PUNA_TRY(Node body, alternatives(options, depth + 1));
    if (!take(")")) return wrong("an open group");
    return parent_node(kind, std::move(body));
  }

  Result<Node> group(Options options, int depth) {
    if (take("?:")) return closed(Kind::kSequence, options, depth);
    if (take("?>")) return closed(Kind::kAtomic, options, depth);
    const struct {
      std::string_view token;
      bool behind, negated;
    } looks[] = {
        {"?=", false, false}, {"?!", false, true}, {"?<=", true, false}, {"?<!", true, true}};
    for (const auto& look : looks) {
      if (!take(look.token)) continue;
      PUNA_TRY(Node node, closed(Kind::kLook, options, depth));
      node.behind = look.behind;
      node.negated = look.negated;
      return node;
    }
    if (sees("?<") || sees("?'")) {
      const char close = sees("?<") ? '>' : '\'';
      const size_t end = text_.find(close, at_ + 2);
      if (end == std::string_view::npos || end == at_ + 2) return wrong("a group without a name");
      names_.emplace_back(text_.substr(at_ + 2, end - at_ - 2));
      at_ = end + 1;
      return capture(options, depth);
    }
    if (sees("?")) {
      const size_t end = text_.find_first_not_of("imx-", at_ + 1);
      if (end == std::string_view::npos || end == at_ + 1 || text_[end] != ':')
        return wrong(fmt::format("the group \"({}\"", text_.substr(at_, 3)));
      --at_;  // option_letters begins at the parenthesis
      PUNA_TRY(const Options changed, option_letters(options, end));
      at_ = end + 1;
      return closed(Kind::kSequence, changed, depth);
    }
    if (sees("*")) return wrong("a callout");
    // Where groups have names, those without are not remembered.
    if (has_named_groups_) return closed(Kind::kSequence, options, depth);
    return capture(options, depth);
  }
  static bool names_groups(std::string_view text) {
    for (size_t at = text.find("(?<"); at != std::string_view::npos;
         at = text.find("(?<", at + 1)) {
      const std::string_view rest = text.substr(at + 3);
      if (!rest.starts_with('=') && !rest.starts_with('!')) return true;
    }
    return false;
  }
  Result<Node> capture(Options options, int depth) {
    const uint32_t number = ++out_.n_groups;
    names_.resize(number);
    PUNA_TRY(Node node, closed(Kind::kCapture, options, depth));
    node.group = number;
    return node;
  }

  Result<Node> atom(Options options, int depth) {
    if (take("(")) return group(options, depth);
    if (take("^")) return plain_node(Kind::kLineBegin);
    if (take("$")) return plain_node(Kind::kLineEnd);
    if (take(".")) {
      CharSet any(0, CharSet::kLast);
      if (!options.dot_all) {
        any = CharSet('\n', '\n');
        any.negate();
      }
      return set_node(std::move(any));
    }
    if (take("[")) {
      PUNA_TRY(CharSet set, bracket(options, 0));
      return set_node(std::move(set));
    }
    if (sees("*") || sees("+") || sees("?")) return wrong("a repeat of nothing");
    if (sees("\\")) return escape(options);
    PUNA_TRY(const char32_t c, next());
    return literal(c, options);
  }

  Result<Node> literal(char32_t c, Options options) {
    CharSet set(c, c);
    if (options.any_case) {
      set.fold();
      PUNA_TRY(check_fold(c));
    }
    last_folded_ = options.any_case ? c : 0;
    last_end_ = at_;
    return set_node(std::move(set));
  }
  // Without case some pairs of letters are one character too ("ss" and U+00DF, "fi" and U+FB01).
  Result<void> check_fold(char32_t c) const {
    constexpr char32_t kOneBecomesMore[] = {0xDF, 0x130, 0x149, 0x1F0, 0x390, 0x3B0, 0x587, 0x1E9E};
    const bool special = std::find(std::begin(kOneBecomesMore), std::end(kOneBecomesMore), c) !=
                             std::end(kOneBecomesMore) ||
                         (c >= 0x1E96 && c <= 0x1E9A) || (c >= 0x1F50 && c <= 0x1FFF) ||
                         (c >= 0xFB00 && c <= 0xFB17);
    if (special) return wrong("a character that is several without case");
    const auto lower = [](char32_t letter) {
      return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
    };
    const char32_t pair[] = {lower(last_folded_), lower(c)};
    constexpr std::string_view kPairs[] = {"ss", "ff", "fi", "fl", "st"};
    const bool adjacent = last_folded_ != 0 && at_ - last_end_ <= 1;
    for (const std::string_view known : kPairs) {
      if (adjacent && pair[0] == static_cast<char32_t>(known[0]) &&
          pair[1] == static_cast<char32_t>(known[1]))
        return wrong(fmt::format("\"{}\" without case, which one character is too", known));
    }
    return {};
  }

  std::optional<CharSet> class_escape(char letter) {
    switch (letter) {
      case 'd':
      case 'D':
        return known_set("escape:d", letter == 'D');
      case 'w':
      case 'W':
        return known_set("escape:w", letter == 'W');
      case 's':
      case 'S':
        return known_set("escape:s", letter == 'S');
      case 'h':
      case 'H':
        return known_set("escape:h", letter == 'H');
      default:
        return {};
    }
  }

  // \p{Name}, \p{^Name} or \P{Name}; `at_` stands behind the letter.
  Result<CharSet> property(bool negated) {
    if (!take("{")) return wrong("a property without braces");
    negated ^= take("^");
    const size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return wrong("an open property");
    const std::string_view name = text_.substr(at_, end - at_);
    auto set = CharSet::named(name);
    if (!set || name.find(':') != std::string_view::npos)
      return wrong(fmt::format("the property \"{}\"", name));
    at_ = end + 1;
    if (negated) set->negate();
    return *std::move(set);
  }

  Result<char32_t> hexadecimal(size_t least, size_t most) {
    char32_t value = 0;
    size_t n = 0;
    for (; n < most && !done(); ++n, ++at_) {
      const int digit = base::hex_digit(text_[at_]);
      if (digit < 0) break;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (n < least || value > CharSet::kLast) return wrong("a bad hexadecimal character");
    return value;
  }

  // The character that an escape stands for; `at_` stands behind the backslash.
  Result<char32_t> character_escape() {
    PUNA_TRY(const char32_t c, next());
    switch (c) {
      case 't':
        return U'\t';
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 'f':
        return U'\f';
      case 'v':
        return U'\v';
      case 'a':
        return U'\a';
      case 'e':
        return U'\x1b';
      case 'u':
        return hexadecimal(4, 4);
      case 'x': {
        if (!take("{")) {
          PUNA_TRY(const char32_t value, hexadecimal(1, 2));
          if (value >= 0x80) return wrong("a byte above \\x7F");
          return value;
        }
        PUNA_TRY(const char32_t value, hexadecimal(1, 8));
        if (!take("}")) return wrong("an open \\x{");
        return value;
      }
      case '0': {
        char32_t value = 0;
        for (int n = 0; n < 2 && !done() && text_[at_] >= '0' && text_[at_] <= '7'; ++n)
          value = value * 8 + static_cast<char32_t>(text_[at_++] - '0');
        return value;
      }
      default:
        break;
    }
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
    if (word) return wrong(fmt::format("the escape \\{}", static_cast<char>(c)));
    return c;
  }

  Result<Node> escape(Options options) {
    ++at_;
    if (done()) return wrong("a backslash at the end");
    const char letter = text_[at_];
    if (auto set = class_escape(letter)) {
      ++at_;
      return set_node(*std::move(set));
    }
    constexpr std::pair<char, Kind> kPlaces[] = {
        {'A', Kind::kTextBegin},   {'z', Kind::kTextEnd},  {'Z', Kind::kTextEndOrLine},
        {'G', Kind::kSearchBegin}, {'b', Kind::kWordEdge}, {'B', Kind::kWordEdge}};
    for (const auto& [name, kind] : kPlaces) {
      if (letter != name) continue;
      ++at_;
      return plain_node(kind, /*negated=*/letter == 'B');
    }
    if (take("p")) return property_node(false);
    if (take("P")) return property_node(true);
    if (take("R")) return line_break();
    if (take("N")) {
      CharSet set('\n', '\n');
      set.negate();
      return set_node(std::move(set));
    }
    if (take("O")) return set_node(CharSet(0, CharSet::kLast));
    if (letter == 'k' || (letter >= '1' && letter <= '9')) return back_reference(options);
    PUNA_TRY(const char32_t c, character_escape());
    return literal(c, options);
  }

  Result<Node> property_node(bool negated) {
    PUNA_TRY(CharSet set, property(negated));
    return set_node(std::move(set));
  }

  // \R: \r\n, or one character that ends a line, which is not given back.
  static Node line_break() {
    Node pair = plain_node(Kind::kSequence);
    pair.children = {set_node(CharSet('\r', '\r')), set_node(CharSet('\n', '\n'))};
    CharSet one('\n', '\r');
    for (const char32_t c : {0x85, 0x2028, 0x2029}) one.add(CharSet(c, c));
    Node either = plain_node(Kind::kAlternatives);
    either.children = {std::move(pair), set_node(std::move(one))};
    return parent_node(Kind::kAtomic, std::move(either));
  }

  Result<Node> back_reference(Options options) {
    if (options.any_case) return wrong("a back reference without case");
    Node node = plain_node(Kind::kBackReference);
    out_.has_back_references = true;
    if (take("k<")) {
      const size_t end = text_.find('>', at_);
      const std::string_view name = text_.substr(at_, end - at_);
      const auto it = std::find(names_.begin(), names_.end(), name);
      if (end == std::string_view::npos || name.empty() || it == names_.end())
        return wrong("a reference to a group that is not known yet");
      at_ = end + 1;
      node.group = static_cast<uint32_t>(it - names_.begin()) + 1;
      return node;
    }
    if (has_named_groups_) return wrong("a reference by number beside groups with names");
    if (at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9')
      return wrong("a number of several digits after a backslash");
    node.group = static_cast<uint32_t>(text_[at_++] - '0');
    if (node.group > out_.n_groups) return wrong("a reference to a group that is not known yet");
    return node;
  }

  // [...], behind the opening bracket.
  Result<CharSet> bracket(Options options, int depth) {
    if (depth > kDeepest) return wrong("more than 100 sets in one another");
    const bool negated = take("^");
    CharSet all, part;
    bool intersected = false, first = true;
    const auto close_part = [&] {
      if (options.any_case) part.fold();
      if (intersected) {
        all.intersect(part);
      } else {
        all = part;
      }
      part = CharSet();
      intersected = true;
    };
    while (first || !take("]")) {
      if (done()) return wrong("an open set");
      if (take("&&")) {
        close_part();
        first = false;
        continue;
      }
      PUNA_TRY(const CharSet one, set_member(options, depth, first));
      part.add(one);
      first = false;
    }
    close_part();
    if (negated) all.negate();
    return all;
  }

  Result<CharSet> set_member(Options options, int depth, bool first) {
    if (sees("[:")) {
      const size_t end = text_.find(":]", at_);
      if (end != std::string_view::npos) {
        const size_t begin = at_ + 2 + (text_[at_ + 2] == '^' ? 1 : 0);
        auto set = CharSet::named(fmt::format("posix:{}", text_.substr(begin, end - begin)));
        if (!set) return wrong(fmt::format("the class {}", text_.substr(at_, end + 2 - at_)));
        if (begin == at_ + 3) set->negate();
        at_ = end + 2;
        return *std::move(set);
      }
    }
    if (take("[")) return bracket(options, depth + 1);
    if (first && sees("]") && text_.find(']', at_ + 1) == std::string_view::npos)
      return wrong("an empty set");
    if (sees("\\") && at_ + 1 < text_.size()) {
      const char letter = text_[at_ + 1];
      if (auto set = class_escape(letter)) {
        // In a set \w is [[:word:]], which knows fewer numbers than \w alone.
        if (letter == 'w' || letter == 'W') set = known_set("posix:word", letter == 'W');
        at_ += 2;
        if (sees("-") && !sees("-]")) return wrong("a range that begins with a class");
        return *std::move(set);
      }
      if (letter == 'p' || letter == 'P') {
        at_ += 2;
        return property(letter == 'P');
      }
    }
    PUNA_TRY(const char32_t low, set_character());
    if (!sees("-") || sees("-]") || sees("-&&")) return CharSet(low, low);
    ++at_;
    if (sees("[") || (sees("\\") && at_ + 1 < text_.size() && class_escape(text_[at_ + 1])))
      return wrong("a range that ends with a class");
    PUNA_TRY(const char32_t high, set_character());
    if (high < low) return wrong("a range that runs backwards");
    return CharSet(low, high);
  }
  Result<char32_t> set_character() {
    if (!take("\\")) return next();
    if (take("b")) return U'\b';
    return character_escape();
  }

  // {n,m} behind the brace; false where it is plain text.
  bool bounds(uint32_t& least, uint32_t& most, bool& fixed) {
    size_t at = at_;
    const auto number = [&](uint32_t& value) {
      const size_t begin = at;
      value = 0;
      while (at < text_.size() && text_[at] >= '0' && text_[at] <= '9' && value <= kMostRepeats)
        value = value * 10 + static_cast<uint32_t>(text_[at++] - '0');
      return at > begin;
    };
    const bool has_least = number(least);
    fixed = at < text_.size() && text_[at] != ',';
    most = least;
    bool has_most = false;
    if (!fixed) {
      ++at;
      has_most = number(most);
      if (!has_most) most = Node::kUnbounded;
    }
    if ((!has_least && !has_most) || at >= text_.size() || text_[at] != '}') return false;
    at_ = at + 1;
    return true;
  }

  Result<Node> repeats(Node node, Options options) {
    for (int n = 0;; ++n) {
      while (options.extended && skip_blank()) {
      }
      Node repeat = plain_node(Kind::kRepeat);
      bool interval = false, fixed = false;
      if (take("?")) {
        repeat.least = 0;
      } else if (take("*")) {
        repeat.least = 0;
        repeat.most = Node::kUnbounded;
      } else if (take("+")) {
        repeat.most = Node::kUnbounded;
      } else if (sees("{")) {
        const size_t brace = at_++;
        if (!bounds(repeat.least, repeat.most, fixed)) {
          at_ = brace;
          return node;  // a plain brace, read as the next character
        }
        interval = true;
        if (repeat.least > kMostRepeats ||
            (repeat.most > kMostRepeats && repeat.most != Node::kUnbounded))
          return wrong("a repeat of more than 100000 times");
        if (repeat.most < repeat.least) return wrong("a repeat with its bounds exchanged");
      } else {
        return node;
      }
      if (fixed && sees("?")) return wrong("a lazy repeat of a fixed number");
      if (take("?")) {
        repeat.greed = Node::Greed::kLazy;
      } else if (!interval && take("+")) {
        repeat.greed = Node::Greed::kPossessive;
      }
      if (node.kind == Kind::kLook || (node.kind >= Kind::kLineBegin))
        return wrong("a repeat of a condition");
      if (n == kMostInARow) return wrong("more than 4 repeats of one another");
      repeat.children.push_back(std::move(node));
      node = std::move(repeat);
    }
  }

  std::string_view text_;
  bool has_named_groups_;
  size_t at_ = 0;
  Parsed out_;
  std::vector<std::string> names_;  // of the groups so far, "" for none
  char32_t last_folded_ = 0;        // the last plain character, if read without case
  size_t last_end_ = 0;
};

}  // namespace

std::unexpected<base::Error> unsupported(std::string_view expression, std::string_view what) {
  std::string_view shown = expression.substr(0, kShownBytes);
  const bool cut = shown.size() < expression.size();
  if (cut) shown = shown.substr(0, base::utf8_complete_prefix(shown));
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("The expression \"{}{}\" has {}, which is not supported.", shown,
                                cut ? "..." : "", what));
}

Result<Parsed> parse(std::string_view expression) { return Parser(expression).run(); }

}  // namespace puna::tokenizer::regex
