#include "chat/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace puna::chat::jinja {
namespace {

using base::ErrorCode;
using base::Result;
using Kind = Statement::Kind;
using TokenKind = Token::Kind;

std::string described(const Token& token) {
  switch (token.kind) {
    case TokenKind::kText:
      return "text";
    case TokenKind::kOutputBegin:
      return "\"{{\"";
    case TokenKind::kOutputEnd:
      return "\"}}\"";
    case TokenKind::kBlockBegin:
      return "\"{%\"";
    case TokenKind::kBlockEnd:
      return "\"%}\"";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEnd:
      return "end of the template";
    default:
      return fmt::format("\"{}\"", token.text);
  }
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Result<Block> run() { return block({}, "", {}); }

 private:
  using Names = std::initializer_list<std::string_view>;

  Result<Block> block(Names ends, std::string_view of, Position opened);
  Result<Statement> statement(Position at, const std::string& name);
  Result<Statement> if_statement(Position at);
  Result<Statement> for_statement(Position at);
  Result<Statement> set_statement(Position at);
  Result<Statement> with_statement(Position at);
  Result<Statement> filter_statement(Position at);
  Result<Statement> macro_statement(Position at);
  Result<Statement> call_statement(Position at);
  Result<void> parameters(Statement& out);
  Result<void> macro_body(Statement& out, std::string_view end);
  Result<Statement> scope_statement(Position at, std::string_view end);
  Result<ExpressionPtr> output_filters();
  Result<Target> target(bool allow_member);
  Result<Target> single_target(bool allow_member);
  Result<void> end_of(std::string_view name);

  TokenStream tokens_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;  // around the current place, for break and continue
};

// Statements up to a block whose name is one of `ends`; its "{%" is read, the name is not. With no
// ends: to the end.
Result<Block> Parser::block(Names ends, std::string_view of, Position opened) {
  struct Leave {
    int& nesting;
    ~Leave() { --nesting; }
  } leave{++nesting_};
  if (nesting_ > kMaxNesting) {
    return fail_at(opened, ErrorCode::kUnsupported,
                   fmt::format("blocks nest deeper than {} levels", kMaxNesting));
  }
  Block out;
  while (true) {
    Token token = tokens_.take();
    Statement now{.kind = Kind::kText, .at = token.at};
    if (token.kind == TokenKind::kText) {
      now.text = std::move(token.text);
    } else if (token.kind == TokenKind::kOutputBegin) {
      now.kind = Kind::kOutput;
      PUNA_TRY(ExpressionPtr shown, expressions_.tuple(/*with_condition=*/true));
      now.expressions.push_back(std::move(shown));
      if (tokens_.now().kind != TokenKind::kOutputEnd) return tokens_.unexpected_token("\"}}\"");
      tokens_.take();
    } else if (token.kind == TokenKind::kBlockBegin) {
      const Token& name = tokens_.now();
      if (name.kind != TokenKind::kName) return tokens_.unexpected_token("the name of a statement");
      if (std::ranges::find(ends, std::string_view(name.text)) != ends.end()) return out;
      const Position at = name.at;
      PUNA_TRY(now, statement(at, tokens_.take().text));
    } else {
      if (ends.size() == 0) return out;
      return fail_at(
          opened, ErrorCode::kInvalidArgument,
          fmt::format("the block \"{}\" is not closed (\"{}\" is missing)", of, *(ends.end() - 1)));
    }
    out.push_back(std::move(now));
  }
}

Result<Statement> Parser::statement(Position at, const std::string& name) {
  if (name == "if") return if_statement(at);
  if (name == "for") return for_statement(at);
  if (name == "set") return set_statement(at);
  if (name == "with") return with_statement(at);
  if (name == "filter") return filter_statement(at);
  if (name == "macro") return macro_statement(at);
  if (name == "call") return call_statement(at);
  if (name == "generation")
    return scope_statement(at,
                           "endgeneration");  // marks what the model wrote; no output of its own
  if (name == "break" || name == "continue") {
    if (loops_ == 0)
      return fail_at(at, ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" stands outside of a loop", name));
    PUNA_TRY(tokens_.expect_block_end());
    return Statement{.kind = name == "break" ? Kind::kBreak : Kind::kContinue, .at = at};
  }
  if (name.starts_with("end") || name == "else" || name == "elif") {
    return fail_at(at, ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" has no block to belong to", name));
  }
  return fail_at(at, ErrorCode::kUnsupported,
                 fmt::format("the statement \"{}\" is not supported", name));
}

// The name of an end block and its "%}".
Result<void> Parser::end_of(std::string_view name) {
  if (!tokens_.skip_name(name)) return tokens_.unexpected_token(fmt::format("\"{}\"", name));
  return tokens_.expect_block_end();
}

Result<Statement> Parser::if_statement(Position at) {
  Statement out{.kind = Kind::kIf, .at = at};
  while (true) {
    PUNA_TRY(ExpressionPtr decider, expressions_.tuple(/*with_condition=*/false));
    out.expressions.push_back(std::move(decider));
    PUNA_TRY(tokens_.expect_block_end());
    expressions_.enter_branch();
    PUNA_TRY(Block then, block({"elif", "else", "endif"}, "if", at));
    expressions_.leave_branch();
    out.blocks.push_back(std::move(then));
    if (!tokens_.skip_name("elif")) break;
  }
  if (tokens_.skip_name("else")) {
    PUNA_TRY(tokens_.expect_block_end());
    expressions_.enter_branch();
    PUNA_TRY(Block otherwise, block({"endif"}, "if", at));
    expressions_.leave_branch();
    out.blocks.push_back(std::move(otherwise));
  }
  PUNA_TRY(end_of("endif"));
  return out;
}

Result<Statement> Parser::for_statement(Position at) {
  Statement out{.kind = Kind::kFor, .at = at};
  PUNA_TRY(Target item, target(/*allow_member=*/false));
  out.targets.push_back(std::move(item));
  if (!tokens_.skip_name("in")) return tokens_.unexpected_token("\"in\"");
  PUNA_TRY(ExpressionPtr over, expressions_.tuple(/*with_condition=*/false));
  out.expressions.push_back(std::move(over));
  out.expressions.emplace_back();
  if (tokens_.skip_name("if")) {
    PUNA_TRY(out.expressions[1], expressions_.condition());
  }
  out.recursive = tokens_.skip_name("recursive");
  PUNA_TRY(tokens_.expect_block_end());
  ++loops_;
  Result<Block> body = block({"else", "endfor"}, "for", at);
  --loops_;
  if (!body) return std::unexpected(std::move(body.error()));
  out.blocks.push_back(*std::move(body));
  if (tokens_.skip_name("else")) {
    PUNA_TRY(tokens_.expect_block_end());
    PUNA_TRY(Block otherwise, block({"endfor"}, "for", at));
    out.blocks.push_back(std::move(otherwise));
  }
  PUNA_TRY(end_of("endfor"));
  return out;
}

Result<Statement> Parser::set_statement(Position at) {
  Statement out{.kind = Kind::kSet, .at = at};
  PUNA_TRY(Target to, target(/*allow_member=*/true));
  out.targets.push_back(std::move(to));
  if (tokens_.skip_operator("=")) {
    PUNA_TRY(ExpressionPtr value, expressions_.tuple(/*with_condition=*/true));
    out.expressions.push_back(std::move(value));
    PUNA_TRY(tokens_.expect_block_end());
    return out;
  }
  out.kind = Kind::kSetBlock;
  out.expressions.emplace_back();
  if (tokens_.skip_operator("|")) {
    PUNA_TRY(out.expressions[0], output_filters());
  }
  PUNA_TRY(tokens_.expect_block_end());
  PUNA_TRY(Block body, block({"endset"}, "set", at));
  out.blocks.push_back(std::move(body));
  PUNA_TRY(end_of("endset"));
  return out;
}

// {% filter a | b %}: the output of its block through the filters.
Result<Statement> Parser::filter_statement(Position at) {
  Statement out{.kind = Kind::kFilter, .at = at};
  PUNA_TRY(ExpressionPtr filters, output_filters());
  out.expressions.push_back(std::move(filters));
  PUNA_TRY(tokens_.expect_block_end());
  PUNA_TRY(Block body, block({"endfilter"}, "filter", at));
  out.blocks.push_back(std::move(body));
  PUNA_TRY(end_of("endfilter"));
  return out;
}

// Filters that work on the output of a block, which the evaluator sets as a variable.
Result<ExpressionPtr> Parser::output_filters() {
  auto filtered = std::make_unique<Expression>();
  filtered->kind = Expression::Kind::kName;
  filtered->name = kBlockOutput;
  do {
    PUNA_TRY(filtered, expressions_.filter(std::move(filtered)));
  } while (tokens_.skip_operator("|"));
  return filtered;
}

Result<Statement> Parser::with_statement(Position at) {
  Statement out{.kind = Kind::kWith, .at = at};
  while (tokens_.now().kind != TokenKind::kBlockEnd) {
    if (!out.targets.empty()) PUNA_TRY(tokens_.expect_operator(","));
    PUNA_TRY(Target to, single_target(/*allow_member=*/false));
    PUNA_TRY(tokens_.expect_operator("="));
    PUNA_TRY(ExpressionPtr value, expressions_.condition());
    out.targets.push_back(std::move(to));
    out.expressions.push_back(std::move(value));
  }
  tokens_.take();
  PUNA_TRY(Block body, block({"endwith"}, "with", at));
  out.blocks.push_back(std::move(body));
  PUNA_TRY(end_of("endwith"));
  return out;
}

Result<Statement> Parser::scope_statement(Position at, std::string_view end) {
  Statement out{.kind = Kind::kScope, .at = at};
  PUNA_TRY(tokens_.expect_block_end());
  PUNA_TRY(Block body, block({end}, end.substr(3), at));
  out.blocks.push_back(std::move(body));
  PUNA_TRY(end_of(end));
  return out;
}

Result<Statement> Parser::macro_statement(Position at) {
  Statement out{.kind = Kind::kMacro, .at = at};
  PUNA_TRY(out.text, tokens_.expect_name("the name of a macro"));
  PUNA_TRY(tokens_.expect_operator("("));
  PUNA_TRY(parameters(out));
  PUNA_TRY(macro_body(out, "endmacro"));
  return out;
}

// {% call(parameters) name(...) %}: its block is what name sees as caller().
Result<Statement> Parser::call_statement(Position at) {
  Statement out{.kind = Kind::kCall, .at = at, .text = "caller"};
  if (tokens_.skip_operator("(")) PUNA_TRY(parameters(out));
  PUNA_TRY(ExpressionPtr call, expressions_.condition());
  if (call->kind != Expression::Kind::kCall)
    return fail_at(call->at, ErrorCode::kInvalidArgument, "a call block wants a call");
  out.expressions.push_back(std::move(call));
  PUNA_TRY(macro_body(out, "endcall"));
  return out;
}

// Parameters and their defaults up to ")", which is read too.
Result<void> Parser::parameters(Statement& out) {
  while (!tokens_.skip_operator(")")) {
    if (!out.parameters.empty()) {
      PUNA_TRY(tokens_.expect_operator(","));
      if (tokens_.skip_operator(")")) break;
    }
    const Position parameter_at = tokens_.now().at;
    PUNA_TRY(std::string name, tokens_.expect_name("a parameter"));
    out.parameters.push_back(std::move(name));
    out.expressions.emplace_back();
    if (tokens_.skip_operator("=")) {
      PUNA_TRY(out.expressions.back(), expressions_.condition());
    } else if (out.expressions.size() > 1 && out.expressions[out.expressions.size() - 2]) {
      return fail_at(parameter_at, ErrorCode::kInvalidArgument,
                     "a parameter without default follows one that has it");
    }
  }
  return {};
}

// The end of the opening tag, the block and its end.
Result<void> Parser::macro_body(Statement& out, std::string_view end) {
  PUNA_TRY(tokens_.expect_block_end());
  const int loops = std::exchange(loops_, 0);
  const MacroNames around = expressions_.exchange_names({});
  Result<Block> body = block({end}, end.substr(3), out.at);
  loops_ = loops;
  const MacroNames used = expressions_.exchange_names(around);
  if (!body) return std::unexpected(std::move(body.error()));
  out.blocks.push_back(*std::move(body));
  const auto is_own = [&](std::string_view name) {
    return std::ranges::find(out.parameters, name) == out.parameters.end();
  };
  out.uses = {.caller = used.caller && is_own("caller"),
              .varargs = used.varargs && is_own("varargs"),
              .kwargs = used.kwargs && is_own("kwargs")};
  // As in Jinja, what the block of a macro inside uses counts for the macro around it too.
  expressions_.exchange_names({.caller = around.caller || used.caller,
                               .varargs = around.varargs || used.varargs,
                               .kwargs = around.kwargs || used.kwargs});
  return end_of(end);
}

// name, name.member, or a list of names to unpack into, with or without parentheses.
Result<Target> Parser::target(bool allow_member) {
  const bool parentheses = tokens_.skip_operator("(");
  PUNA_TRY(Target first, single_target(allow_member && !parentheses));
  Target out = std::move(first);
  if (tokens_.now().is_operator(",")) {
    Target list{.at = out.at};
    list.parts.push_back(std::move(out));
    while (tokens_.skip_operator(",")) {
      if (tokens_.now().kind != TokenKind::kName || tokens_.now().is_name("in")) break;
      PUNA_TRY(Target next, single_target(/*allow_member=*/false));
      list.parts.push_back(std::move(next));
    }
    out = std::move(list);
  }
  if (parentheses) PUNA_TRY(tokens_.expect_operator(")"));
  return out;
}

Result<Target> Parser::single_target(bool allow_member) {
  Target out{.at = tokens_.now().at};
  PUNA_TRY(out.name, tokens_.expect_name("the name of a variable"));
  static constexpr std::string_view kConstants[] = {"true", "false", "none",
                                                    "True", "False", "None"};
  if (std::ranges::find(kConstants, out.name) != std::end(kConstants)) {
    return fail_at(out.at, ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" cannot be assigned to", out.name));
  }
  if (allow_member && tokens_.skip_operator(".")) {
    PUNA_TRY(out.member, tokens_.expect_name("the name of a member"));
  }
  return out;
}

}  // namespace

bool TokenStream::skip_operator(std::string_view op) {
  if (!now().is_operator(op)) return false;
  take();
  return true;
}

bool TokenStream::skip_name(std::string_view name) {
  if (!now().is_name(name)) return false;
  take();
  return true;
}

std::unexpected<base::Error> TokenStream::unexpected_token(std::string_view wanted) const {
  return fail_at(now().at, ErrorCode::kInvalidArgument,
                 fmt::format("unexpected {}, but {} is expected", described(now()), wanted));
}

Result<void> TokenStream::expect_operator(std::string_view op) {
  if (skip_operator(op)) return {};
  return unexpected_token(fmt::format("\"{}\"", op));
}

Result<std::string> TokenStream::expect_name(std::string_view what) {
  if (now().kind != TokenKind::kName) return unexpected_token(what);
  return take().text;
}

Result<void> TokenStream::expect_block_end() {
  if (now().kind != TokenKind::kBlockEnd) return unexpected_token("\"%}\"");
  take();
  return {};
}

Result<Block> parse(std::string_view source) {
  PUNA_TRY(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace puna::chat::jinja
