#include "chat/go_template/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/printable.h"
#include "base/utf8.h"
#include "chat/go_template/lexer.h"

namespace puna::chat::go_template {

using base::ErrorCode;
using base::Result;

namespace {

std::string shown(const Token& token) {
  switch (token.kind) {
    case Token::Kind::kEof:
      return "the end of the template";
    case Token::Kind::kText:
    case Token::Kind::kBegin:
    case Token::Kind::kEnd:
      return "}}";
    case Token::Kind::kField:
      return "." + base::printable(token.text);
    case Token::Kind::kVariable:
      return "$" + base::printable(token.text);
    case Token::Kind::kDot:
      return ".";
    case Token::Kind::kString:
      return "a string";
    default:
      return base::printable(token.text);
  }
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Source> run() {
    while (!at(Token::Kind::kEof)) {
      if (at(Token::Kind::kBegin) && tokens_[at_ + 1].is_name("define")) {
        PUNA_TRY(define());
        continue;
      }
      PUNA_TRY(item(out_.main));
    }
    return std::move(out_);
  }

 private:
  using Kind = Token::Kind;

  const Token& now() const { return tokens_[at_]; }
  bool at(Kind kind) const { return now().kind == kind; }
  Token take() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  // Whether the action that begins here has that keyword.
  bool at_keyword(std::string_view name) const {
    return at(Kind::kBegin) && tokens_[at_ + 1].is_name(name);
  }
  std::unexpected<base::Error> fail(int line, std::string_view what) const {
    return fail_at(line, ErrorCode::kInvalidArgument, what);
  }
  std::unexpected<base::Error> unexpected_here(std::string_view where) const {
    return fail(now().line, fmt::format("{} is not expected in {}", shown(now()), where));
  }

  Result<void> end_of_action(std::string_view where) {
    if (!at(Kind::kEnd)) return unexpected_here(where);
    take();
    return {};
  }

  Result<void> deeper(int line) {
    if (++depth_ > kMaxNesting) {
      return fail_at(line, ErrorCode::kUnsupported,
                     fmt::format("blocks and brackets nest deeper than {}", kMaxNesting));
    }
    return {};
  }

  // Text or an action, which is put behind the nodes.
  Result<void> item(Nodes& nodes) {
    if (at(Kind::kText)) {
      const Token text = take();
      nodes.push_back({.kind = Node::Kind::kText, .line = text.line, .text = text.text});
      return {};
    }
    const int line = take().line;  // {{
    struct Keyword {
      std::string_view name;
      Result<Node> (Parser::*parse)(int line);
    };
    static constexpr Keyword kKeywords[] = {
        {"if", &Parser::parse_if},        {"with", &Parser::parse_with},
        {"range", &Parser::parse_range},  {"template", &Parser::parse_template},
        {"block", &Parser::parse_block},  {"break", &Parser::parse_jump},
        {"continue", &Parser::parse_jump}};
    if (at(Kind::kName)) {
      const auto found = std::ranges::find(kKeywords, now().text, &Keyword::name);
      if (found != std::end(kKeywords)) {
        PUNA_TRY(Node node, (this->*found->parse)(line));
        nodes.push_back(std::move(node));
        return {};
      }
      if (now().text == "define") return fail(line, "define stands inside of a block");
      if (now().text == "end" || now().text == "else")
        return fail(line, fmt::format("{{{{{}}}}} belongs to no block", now().text));
    }
    Node node{.kind = Node::Kind::kAction, .line = line};
    PUNA_TRY(node.pipeline, pipeline("an action", /*of_range=*/false));
    PUNA_TRY(end_of_action("an action"));
    nodes.push_back(std::move(node));
    return {};
  }

  // Nodes up to {{end}} or {{else...}}, which is left.
  Result<Nodes> block_body(int opened) {
    PUNA_TRY(deeper(opened));
    Nodes nodes;
    while (!at_keyword("end") && !at_keyword("else")) {
      if (at(Kind::kEof)) return fail(opened, "a block does not end: no {{end}} follows");
      PUNA_TRY(item(nodes));
    }
    --depth_;
    return nodes;
  }

  Result<void> take_end() {
    take();  // {{
    if (!now().is_name("end")) return fail(now().line, "{{else}} is not expected here");
    take();
    return end_of_action("{{end}}");
  }

  // The rest of if, with and range, behind the keyword.
  Result<Node> branches(Node node, std::string_view keyword) {
    PUNA_TRY(node.pipeline, pipeline(keyword, node.kind == Node::Kind::kRange));
    PUNA_TRY(end_of_action(keyword));
    n_ranges_ += node.kind == Node::Kind::kRange ? 1 : 0;
    PUNA_TRY(node.body, block_body(node.line));
    n_ranges_ -= node.kind == Node::Kind::kRange ? 1 : 0;
    if (at_keyword("else")) {
      const int line = take().line;
      take();
      // {{else if}} and {{else with}} share the {{end}}.
      const bool again = node.kind != Node::Kind::kRange && now().is_name(keyword);
      if (again) {
        PUNA_TRY(deeper(line));
        PUNA_TRY(Node inner, node.kind == Node::Kind::kIf ? parse_if(line) : parse_with(line));
        --depth_;
        node.otherwise.push_back(std::move(inner));
        return node;
      }
      PUNA_TRY(end_of_action("{{else}}"));
      PUNA_TRY(node.otherwise, block_body(line));
    }
    PUNA_TRY(take_end());
    return node;
  }

  Result<Node> parse_if(int line) {
    take();
    return branches({.kind = Node::Kind::kIf, .line = line}, "if");
  }
  Result<Node> parse_with(int line) {
    take();
    return branches({.kind = Node::Kind::kWith, .line = line}, "with");
  }
  Result<Node> parse_range(int line) {
    take();
    return branches({.kind = Node::Kind::kRange, .line = line}, "range");
  }

  Result<Node> parse_jump(int line) {
    const std::string keyword = take().text;
    if (n_ranges_ == 0) return fail(line, fmt::format("{{{{{}}}}} is outside of a range", keyword));
    PUNA_TRY(end_of_action(keyword));
    return Node{.kind = keyword == "break" ? Node::Kind::kBreak : Node::Kind::kContinue,
                .line = line};
  }

  // template "name" pipeline, and the same behind block.
  Result<Node> template_call(int line, std::string_view keyword) {
    take();
    if (!at(Kind::kString)) return unexpected_here(keyword);
    Node node{.kind = Node::Kind::kTemplate, .line = line, .text = take().text};
    if (!at(Kind::kEnd)) {
      PUNA_TRY(node.pipeline, pipeline(keyword, /*of_range=*/false));
    }
    PUNA_TRY(end_of_action(keyword));
    return node;
  }

  Result<Node> parse_template(int line) { return template_call(line, "template"); }

  Result<Node> parse_block(int line) {
    PUNA_TRY(Node node, template_call(line, "block"));
    if (!node.pipeline) return fail(line, "block wants a name and a value");
    PUNA_TRY(definition(node.text, line));
    return node;
  }

  Result<void> define() {
    const int line = take().line;
    take();
    if (!at(Kind::kString)) return unexpected_here("define");
    const std::string name = take().text;
    PUNA_TRY(end_of_action("define"));
    return definition(name, line);
  }

  // The body of a named template, and its {{end}}.
  Result<void> definition(const std::string& name, int line) {
    const int n_ranges = std::exchange(n_ranges_, 0);
    PUNA_TRY(Nodes body, block_body(line));
    PUNA_TRY(take_end());
    n_ranges_ = n_ranges;
    Nodes& slot = out_.named[name];
    const auto writes = [](const Node& node) {
      return node.kind != Node::Kind::kText ||
             node.text.find_first_not_of(" \t\r\n") != std::string::npos;
    };
    const bool is_empty = std::ranges::none_of(body, writes);
    if (!is_empty && std::ranges::any_of(slot, writes)) {
      return fail(line, fmt::format("the template \"{}\" is defined twice", base::printable(name)));
    }
    if (!is_empty || slot.empty()) slot = std::move(body);
    return {};
  }

  Result<std::unique_ptr<Pipeline>> pipeline(std::string_view where, bool of_range) {
    auto out = std::make_unique<Pipeline>();
    out->line = now().line;
    PUNA_TRY(assignments(*out, of_range));
    while (true) {
      PUNA_TRY(Command next, command(where));
      if (!out->commands.empty() && !is_callable(next)) {
        return fail(out->line,
                    fmt::format("the word behind a | in {} is neither function nor field", where));
      }
      out->commands.push_back(std::move(next));
      if (!now().is_sign("|")) return out;
      take();
      if (at(Kind::kEnd) || now().is_sign(")")) return out;  // as Go takes it
    }
  }

  // $x := or $x = or, of range, $i, $x :=
  Result<void> assignments(Pipeline& out, bool of_range) {
    if (!at(Kind::kVariable)) return {};
    const auto assigns = [&](size_t i) {
      return tokens_[i].is_sign(":=") || tokens_[i].is_sign("=");
    };
    const bool two =
        of_range && tokens_[at_ + 1].is_sign(",") && tokens_[at_ + 2].kind == Kind::kVariable;
    const size_t sign = at_ + (two ? 3 : 1);
    if (!assigns(sign)) return {};
    for (size_t i = at_; i < sign; i += 2) {
      if (tokens_[i].text.empty()) return fail(now().line, "$ itself cannot be set");
      out.variables.push_back(tokens_[i].text);
    }
    out.declares = tokens_[sign].text == ":=";
    at_ = sign + 1;
    return {};
  }

  static bool is_callable(const Command& command) {
    switch (command[0].kind) {
      case Operand::Kind::kString:
      case Operand::Kind::kInteger:
      case Operand::Kind::kFloat:
      case Operand::Kind::kBool:
      case Operand::Kind::kNil:
        return false;
      case Operand::Kind::kDot:
        return !command[0].fields.empty();
      default:
        return true;
    }
  }

  Result<Command> command(std::string_view where) {
    Command out;
    while (!now().is_sign("|") && !now().is_sign(")") && !at(Kind::kEnd)) {
      if (!out.empty() && !now().spaced) return unexpected_here(where);
      PUNA_TRY(Operand next, operand(where));
      out.push_back(std::move(next));
    }
    if (out.empty()) return fail(now().line, fmt::format("a value is missing in {}", where));
    return out;
  }

  Result<Operand> operand(std::string_view where) {
    Operand out{.line = now().line};
    const Token token = now();
    switch (token.kind) {
      case Kind::kDot:
        take();
        return out;
      case Kind::kField:
        fields(out);
        return out;
      case Kind::kVariable:
        take();
        out.kind = Operand::Kind::kVariable;
        out.text = token.text;
        fields(out);
        return out;
      case Kind::kString:
        take();
        out.kind = Operand::Kind::kString;
        out.text = token.text;
        return out;
      case Kind::kNumber:
        PUNA_TRY(number(out, token.text));
        take();
        return out;
      case Kind::kName:
        take();
        name(out, token.text);
        return out;
      default:
        break;
    }
    if (!token.is_sign("(")) return unexpected_here(where);
    take();
    PUNA_TRY(deeper(token.line));
    out.kind = Operand::Kind::kPipeline;
    PUNA_TRY(out.pipeline, pipeline("brackets", /*of_range=*/false));
    if (!now().is_sign(")")) return fail(token.line, "a bracket is not closed");
    if (!out.pipeline->variables.empty()) {
      return fail_at(token.line, ErrorCode::kUnsupported, "a variable is set inside of brackets");
    }
    take();
    --depth_;
    fields(out);
    return out;
  }

  // .a.b, without a space before but where they are of the dot.
  void fields(Operand& out) {
    const auto goes_on = [&] {
      return !now().spaced || (out.kind == Operand::Kind::kDot && out.fields.empty());
    };
    while (at(Kind::kField) && goes_on()) out.fields.push_back(take().text);
  }

  static void name(Operand& out, const std::string& text) {
    if (text == "true" || text == "false") {
      out.kind = Operand::Kind::kBool;
      out.integer = text == "true" ? 1 : 0;
    } else if (text == "nil") {
      out.kind = Operand::Kind::kNil;
    } else {
      out.kind = Operand::Kind::kFunction;
      out.text = text;
    }
  }

  Result<void> number(Operand& out, std::string text) const {
    const std::string written = text;
    std::erase(text, '_');
    const bool minus = text.starts_with('-');
    if (minus || text.starts_with('+')) text.erase(0, 1);
    struct Base {
      std::string_view prefix;
      int base;
    };
    constexpr Base kBases[] = {{"0x", 16}, {"0X", 16}, {"0b", 2}, {"0B", 2},
                               {"0o", 8},  {"0O", 8},  {"0", 8},  {"", 10}};
    const auto base = *std::ranges::find_if(kBases, [&](const Base& each) {
      return text.starts_with(each.prefix) && (each.prefix != "0" || text.size() > 1);
    });
    const char* const first = text.data() + base.prefix.size();
    const char* const last = text.data() + text.size();
    uint64_t value = 0;
    const auto whole = std::from_chars(first, last, value, base.base);
    const uint64_t limit = uint64_t{INT64_MAX} + (minus ? 1 : 0);
    if (first != last && whole.ec == std::errc() && whole.ptr == last && value <= limit) {
      out.kind = Operand::Kind::kInteger;
      out.integer = static_cast<int64_t>(minus ? 0 - value : value);
      return {};
    }
    char* end = nullptr;
    out.number = std::strtod(text.c_str(), &end);
    const bool is_real = text.find_first_of(".eE") != std::string::npos &&
                         text.find_first_not_of("0123456789.eE+-") == std::string::npos;
    if (!is_real || end != last || !std::isfinite(out.number)) {
      return fail(now().line, fmt::format("\"{}\" is no number", base::printable(written)));
    }
    if (minus) out.number = -out.number;
    out.kind = Operand::Kind::kFloat;
    return {};
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0, n_ranges_ = 0;
  Source out_;
};

}  // namespace

Result<Source> parse(std::string_view source) {
  PUNA_TRY(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace puna::chat::go_template
