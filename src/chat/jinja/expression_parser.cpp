#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/filters.h"
#include "chat/jinja/parser.h"
#include "chat/jinja/tests.h"

namespace puna::chat::jinja {
namespace {

using base::ErrorCode;
using base::Result;
using Kind = Expression::Kind;

ExpressionPtr make(Kind kind, Position at) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->at = at;
  return node;
}

ExpressionPtr constant(Value value, Position at) {
  ExpressionPtr node = make(Kind::kConstant, at);
  node->value = std::move(value);
  return node;
}

ExpressionPtr with_parts(Kind kind, Position at, ExpressionPtr first,
                         ExpressionPtr second = nullptr) {
  ExpressionPtr node = make(kind, at);
  node->parts.push_back(std::move(first));
  if (second) node->parts.push_back(std::move(second));
  return node;
}

}  // namespace

// Sets the depth of a complete node.
Result<ExpressionPtr> ExpressionParser::finish(ExpressionPtr node) const {
  for (const ExpressionPtr& part : node->parts) {
    if (part) node->depth = std::max(node->depth, part->depth + 1);
  }
  for (const auto& [name, part] : node->named) node->depth = std::max(node->depth, part->depth + 1);
  for (const ExpressionPtr* part : {&node->spread, &node->spread_named}) {
    if (*part) node->depth = std::max(node->depth, (*part)->depth + 1);
  }
  if (node->depth > kMaxDepth) {
    return fail_at(node->at, ErrorCode::kUnsupported,
                   fmt::format("the expression is deeper than {} levels", kMaxDepth));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::condition() {
  struct Leave {
    int& nesting;
    ~Leave() { --nesting; }
  } leave{++nesting_};
  const Position at = tokens_.now().at;
  if (nesting_ > kMaxNesting) {
    return fail_at(at, ErrorCode::kUnsupported,
                   fmt::format("the expression nests deeper than {} levels", kMaxNesting));
  }
  PUNA_TRY(ExpressionPtr node, disjunction());
  while (tokens_.skip_name("if")) {
    PUNA_TRY(ExpressionPtr decider, disjunction());
    node = with_parts(Kind::kConditional, at, std::move(decider), std::move(node));
    node->parts.emplace_back();
    if (tokens_.skip_name("else")) {
      PUNA_TRY(node->parts[2], condition());
    }
    PUNA_TRY(node, finish(std::move(node)));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::disjunction() {
  const Position at = tokens_.now().at;
  PUNA_TRY(ExpressionPtr first, conjunction());
  if (!tokens_.now().is_name("or")) return first;
  ExpressionPtr node = with_parts(Kind::kOr, at, std::move(first));
  while (tokens_.skip_name("or")) {
    PUNA_TRY(ExpressionPtr next, conjunction());
    node->parts.push_back(std::move(next));
  }
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::conjunction() {
  const Position at = tokens_.now().at;
  PUNA_TRY(ExpressionPtr first, negation());
  if (!tokens_.now().is_name("and")) return first;
  ExpressionPtr node = with_parts(Kind::kAnd, at, std::move(first));
  while (tokens_.skip_name("and")) {
    PUNA_TRY(ExpressionPtr next, negation());
    node->parts.push_back(std::move(next));
  }
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::negation() {
  const Position at = tokens_.now().at;
  int n_nots = 0;
  while (tokens_.now().is_name("not")) {
    tokens_.take();
    ++n_nots;
  }
  PUNA_TRY(ExpressionPtr node, comparison());
  if (n_nots == 0) return node;
  const bool even = n_nots % 2 == 0;  // "not not a" is the truth of a
  node = with_parts(Kind::kNot, at, std::move(node));
  if (even) node = with_parts(Kind::kNot, at, std::move(node));
  if (even) node->parts[0]->depth = node->parts[0]->parts[0]->depth + 1;
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::comparison() {
  const Position at = tokens_.now().at;
  PUNA_TRY(ExpressionPtr first, sum());
  ExpressionPtr node;
  while (true) {
    std::string op;
    const Token& now = tokens_.now();
    if (now.is_name("not") && tokens_.ahead().is_name("in")) {
      op = "not in";
      tokens_.take();
    } else if (now.is_name("in")) {
      op = "in";
    } else if (now.kind == Token::Kind::kOperator &&
               (now.text == "==" || now.text == "!=" || now.text == "<" || now.text == "<=" ||
                now.text == ">" || now.text == ">=")) {
      op = now.text;
    } else {
      break;
    }
    tokens_.take();
    if (!node) node = with_parts(Kind::kCompare, at, std::move(first));
    PUNA_TRY(ExpressionPtr next, sum());
    node->parts.push_back(std::move(next));
    node->names.push_back(std::move(op));
  }
  if (!node) return first;
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::sum() {
  PUNA_TRY(ExpressionPtr node, concatenation());
  while (tokens_.now().is_operator("+") || tokens_.now().is_operator("-")) {
    const Token op = tokens_.take();
    PUNA_TRY(ExpressionPtr right, concatenation());
    node = with_parts(Kind::kBinary, op.at, std::move(node), std::move(right));
    node->name = op.text;
    PUNA_TRY(node, finish(std::move(node)));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::concatenation() {
  const Position at = tokens_.now().at;
  PUNA_TRY(ExpressionPtr first, product());
  if (!tokens_.now().is_operator("~")) return first;
  ExpressionPtr node = with_parts(Kind::kConcat, at, std::move(first));
  while (tokens_.skip_operator("~")) {
    PUNA_TRY(ExpressionPtr next, product());
    node->parts.push_back(std::move(next));
  }
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::product() {
  PUNA_TRY(ExpressionPtr node, power());
  while (tokens_.now().is_operator("*") || tokens_.now().is_operator("/") ||
         tokens_.now().is_operator("//") || tokens_.now().is_operator("%")) {
    const Token op = tokens_.take();
    PUNA_TRY(ExpressionPtr right, power());
    node = with_parts(Kind::kBinary, op.at, std::move(node), std::move(right));
    node->name = op.text;
    PUNA_TRY(node, finish(std::move(node)));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::power() {
  PUNA_TRY(ExpressionPtr node, unary(/*with_filters=*/true));
  while (tokens_.now().is_operator("**")) {
    const Token op = tokens_.take();
    PUNA_TRY(ExpressionPtr right, unary(/*with_filters=*/true));
    node = with_parts(Kind::kBinary, op.at, std::move(node), std::move(right));
    node->name = op.text;
    PUNA_TRY(node, finish(std::move(node)));
  }
  return node;
}

// Signs bind closer than filters: -1 | abs is 1.
Result<ExpressionPtr> ExpressionParser::unary(bool with_filters) {
  std::vector<Token> signs;
  while (tokens_.now().is_operator("-") || tokens_.now().is_operator("+"))
    signs.push_back(tokens_.take());
  PUNA_TRY(ExpressionPtr node, primary());
  PUNA_TRY(node, postfix(std::move(node)));
  for (; !signs.empty(); signs.pop_back()) {
    const Kind kind = signs.back().text == "-" ? Kind::kNegative : Kind::kPositive;
    PUNA_TRY(node, finish(with_parts(kind, signs.back().at, std::move(node))));
  }
  if (!with_filters) return node;
  while (true) {
    if (tokens_.skip_operator("|")) {
      PUNA_TRY(node, filter(std::move(node)));
    } else if (tokens_.skip_name("is")) {
      PUNA_TRY(node, test(std::move(node)));
    } else if (tokens_.now().is_operator("(")) {
      PUNA_TRY(node, postfix(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::primary() {
  using TokenKind = Token::Kind;
  const Position at = tokens_.now().at;
  const TokenKind kind = tokens_.now().kind;
  if (kind == TokenKind::kName) {
    const std::string name = tokens_.take().text;
    if (name == "true" || name == "True") return constant(true, at);
    if (name == "false" || name == "False") return constant(false, at);
    if (name == "none" || name == "None") return constant(Value::None{}, at);
    names_.caller |= name == "caller";
    names_.varargs |= name == "varargs";
    names_.kwargs |= name == "kwargs";
    ExpressionPtr node = make(Kind::kName, at);
    node->name = name;
    return node;
  }
  if (kind == TokenKind::kString) {  // strings next to each other are one
    std::string text = tokens_.take().text;
    while (tokens_.now().kind == TokenKind::kString) text += tokens_.take().text;
    return constant(std::move(text), at);
  }
  if (kind == TokenKind::kInteger) return constant(tokens_.take().integer, at);
  if (kind == TokenKind::kFloat) return constant(tokens_.take().number, at);
  if (tokens_.skip_operator("(")) {
    if (tokens_.skip_operator(")")) return make(Kind::kTuple, at);
    PUNA_TRY(ExpressionPtr node, tuple(/*with_condition=*/true));
    PUNA_TRY(tokens_.expect_operator(")"));
    return node;
  }
  if (tokens_.skip_operator("[")) {
    ExpressionPtr node = make(Kind::kList, at);
    PUNA_TRY(sequence(*node, "]"));
    return finish(std::move(node));
  }
  if (tokens_.skip_operator("{")) return dict_literal(at);
  return tokens_.unexpected_token("an expression");
}

// Items up to `close`, which is read too; a comma may stand before it.
Result<void> ExpressionParser::sequence(Expression& node, std::string_view close) {
  while (!tokens_.skip_operator(close)) {
    if (!node.parts.empty()) {
      PUNA_TRY(tokens_.expect_operator(","));
      if (tokens_.skip_operator(close)) break;
    }
    PUNA_TRY(ExpressionPtr item, condition());
    node.parts.push_back(std::move(item));
  }
  return {};
}

Result<ExpressionPtr> ExpressionParser::dict_literal(Position at) {
  ExpressionPtr node = make(Kind::kDict, at);
  while (!tokens_.skip_operator("}")) {
    if (!node->parts.empty()) {
      PUNA_TRY(tokens_.expect_operator(","));
      if (tokens_.skip_operator("}")) break;
    }
    PUNA_TRY(ExpressionPtr key, condition());
    PUNA_TRY(tokens_.expect_operator(":"));
    PUNA_TRY(ExpressionPtr value, condition());
    node->parts.push_back(std::move(key));
    node->parts.push_back(std::move(value));
  }
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::tuple(bool with_condition) {
  const Position at = tokens_.now().at;
  const auto item = [&] { return with_condition ? condition() : disjunction(); };
  PUNA_TRY(ExpressionPtr first, item());
  if (!tokens_.now().is_operator(",")) return first;
  ExpressionPtr node = with_parts(Kind::kTuple, at, std::move(first));
  while (tokens_.skip_operator(",")) {
    const Token& now = tokens_.now();
    if (now.is_operator(")") || now.kind == Token::Kind::kBlockEnd ||
        now.kind == Token::Kind::kOutputEnd || (!with_condition && now.is_name("recursive")))
      break;
    PUNA_TRY(ExpressionPtr next, item());
    node->parts.push_back(std::move(next));
  }
  return finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    const Position at = tokens_.now().at;
    if (tokens_.skip_operator(".")) {
      if (tokens_.now().kind == Token::Kind::kInteger) {
        node = with_parts(Kind::kItem, at, std::move(node), constant(tokens_.take().integer, at));
      } else {
        PUNA_TRY(std::string name, tokens_.expect_name("the name of an attribute"));
        node = with_parts(Kind::kAttribute, at, std::move(node));
        node->name = std::move(name);
      }
    } else if (tokens_.skip_operator("[")) {
      PUNA_TRY(node, subscript(std::move(node)));
      node->at = at;
    } else if (tokens_.skip_operator("(")) {
      node = with_parts(Kind::kCall, at, std::move(node));
      PUNA_TRY(arguments(*node));
    } else {
      return node;
    }
    PUNA_TRY(node, finish(std::move(node)));
  }
}

// a[i], a[i:j:k] or, with a tuple as key, a[i, j]; the "[" is read.
Result<ExpressionPtr> ExpressionParser::subscript(ExpressionPtr node) {
  const Position at = tokens_.now().at;
  ExpressionPtr bounds[3];
  int n_colons = 0;
  if (!tokens_.now().is_operator(":")) {
    PUNA_TRY(bounds[0], condition());
  }
  while (tokens_.now().is_operator(":") && n_colons < 2) {
    tokens_.take();
    ++n_colons;
    if (!tokens_.now().is_operator(":") && !tokens_.now().is_operator("]")) {
      PUNA_TRY(bounds[n_colons], condition());
    }
  }
  if (n_colons == 0 && tokens_.skip_operator(",")) {
    ExpressionPtr key = with_parts(Kind::kTuple, at, std::move(bounds[0]));
    do {
      PUNA_TRY(ExpressionPtr part, condition());
      key->parts.push_back(std::move(part));
    } while (tokens_.skip_operator(","));
    PUNA_TRY(bounds[0], finish(std::move(key)));
  }
  PUNA_TRY(tokens_.expect_operator("]"));
  ExpressionPtr out = with_parts(n_colons > 0 ? Kind::kSlice : Kind::kItem, {}, std::move(node));
  const int n_bounds = n_colons > 0 ? 3 : 1;
  for (int i = 0; i < n_bounds; ++i) out->parts.push_back(std::move(bounds[i]));
  return out;
}

// The arguments of a call; the "(" is read.
Result<void> ExpressionParser::arguments(Expression& node) {
  bool first = true;
  while (!tokens_.skip_operator(")")) {
    if (!first) {
      PUNA_TRY(tokens_.expect_operator(","));
      if (tokens_.skip_operator(")")) break;
    }
    first = false;
    PUNA_TRY(argument(node));
  }
  return {};
}

// a, *a, name=a or **a: in this order, each kind with a star at most once.
Result<void> ExpressionParser::argument(Expression& node) {
  const Token& now = tokens_.now();
  if (node.spread_named) return tokens_.unexpected_token("\")\"");
  if (now.is_operator("**")) {
    tokens_.take();
    PUNA_TRY(node.spread_named, condition());
  } else if (now.is_operator("*")) {
    if (node.spread) return tokens_.unexpected_token("a named argument");
    tokens_.take();
    PUNA_TRY(node.spread, condition());
  } else if (now.kind == Token::Kind::kName && tokens_.ahead().is_operator("=")) {
    std::string name = tokens_.now().text;
    if (std::ranges::find(node.named, name, &std::pair<std::string, ExpressionPtr>::first) !=
        node.named.end()) {
      return fail_at(now.at, ErrorCode::kInvalidArgument,
                     fmt::format("the argument \"{}\" is given twice", name));
    }
    tokens_.take();
    tokens_.take();
    PUNA_TRY(ExpressionPtr value, condition());
    node.named.emplace_back(std::move(name), std::move(value));
  } else {
    if (node.spread || !node.named.empty()) return tokens_.unexpected_token("a named argument");
    PUNA_TRY(ExpressionPtr value, condition());
    node.parts.push_back(std::move(value));
  }
  return {};
}

Result<ExpressionPtr> ExpressionParser::filter(ExpressionPtr input) {
  const Position at = tokens_.now().at;
  PUNA_TRY(const std::string name, tokens_.expect_name("the name of a filter"));
  ExpressionPtr node = with_parts(Kind::kFilter, at, std::move(input));
  node->name = name;
  node->filter = find_filter(name);
  if (!node->filter && branches_ == 0)
    return fail_at(at, ErrorCode::kUnsupported,
                   fmt::format("the filter \"{}\" is not supported", name));
  if (tokens_.skip_operator("(")) PUNA_TRY(arguments(*node));
  return finish(std::move(node));
}

// node is [not] name, name(arguments) or name argument; the "is" is read.
Result<ExpressionPtr> ExpressionParser::test(ExpressionPtr node) {
  const bool negated = tokens_.skip_name("not");
  const Position at = tokens_.now().at;
  PUNA_TRY(const std::string name, tokens_.expect_name("the name of a test"));
  node = with_parts(Kind::kTest, at, std::move(node));
  node->name = name;
  node->test = find_test(name);
  if (!node->test && branches_ == 0)
    return fail_at(at, ErrorCode::kUnsupported,
                   fmt::format("the test \"{}\" is not supported", name));
  const Token& now = tokens_.now();
  const bool literal = now.kind == Token::Kind::kString || now.kind == Token::Kind::kInteger ||
                       now.kind == Token::Kind::kFloat || now.is_operator("[") ||
                       now.is_operator("{");
  const bool other_name =
      now.kind == Token::Kind::kName && now.text != "else" && now.text != "or" && now.text != "and";
  if (tokens_.skip_operator("(")) {
    PUNA_TRY(arguments(*node));
  } else if (now.is_name("is")) {
    return fail_at(now.at, ErrorCode::kInvalidArgument, "tests cannot be chained with \"is\"");
  } else if (literal || other_name) {
    PUNA_TRY(ExpressionPtr argument, primary());
    PUNA_TRY(argument, postfix(std::move(argument)));
    node->parts.push_back(std::move(argument));
  }
  PUNA_TRY(node, finish(std::move(node)));
  if (!negated) return node;
  return finish(with_parts(Kind::kNot, at, std::move(node)));
}

}  // namespace puna::chat::jinja
