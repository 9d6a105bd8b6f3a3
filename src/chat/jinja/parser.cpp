#include "chat/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace puna::chat::jinja {
namespace {

using base::ErrorCode;
using base::Result;
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

// Whether a target assigns to the variable `name`.
bool names(const Target& target, std::string_view name) {
  return target.parts.empty() ? target.name == name
                              : std::ranges::any_of(target.parts, [&](const Target& part) {
                                  return names(part, name);
                                });
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
  Result<Statement> generation_statement(Position at);
  Result<ExpressionPtr> output_filters();
  Result<Statement> print_statement(Position at);
  Result<Statement> block_statement(Position at);
  Result<Statement> autoescape_statement(Position at);
  Result<Target> target(bool allow_member);
  Result<Target> single_target(bool allow_member);
  Result<void> body_begins();
  Result<void> end_of(std::string_view name);

  TokenStream tokens_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;  // around the current place, for break and continue
  std::vector<std::string> block_names_;
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
    Statement now{.kind = Statement::Kind::kText, .at = token.at};
    if (token.kind == TokenKind::kText) {
      now.text = std::move(token.text);
    } else if (token.kind == TokenKind::kOutputBegin) {
      now.kind = Statement::Kind::kOutput;
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
  struct Known {
    std::string_view name;
    Result<Statement> (Parser::*parse)(Position at);
  };
  static constexpr Known kKnown[] = {
      {"autoescape", &Parser::autoescape_statement},
      {"block", &Parser::block_statement},
      {"call", &Parser::call_statement},
      {"filter", &Parser::filter_statement},
      {"for", &Parser::for_statement},
      {"generation", &Parser::generation_statement},
      {"if", &Parser::if_statement},
      {"macro", &Parser::macro_statement},
      {"print", &Parser::print_statement},
      {"set", &Parser::set_statement},
      {"with", &Parser::with_statement},
  };
  const auto known = std::ranges::find(kKnown, name, &Known::name);
  if (known != std::end(kKnown)) return (this->*known->parse)(at);
  if (name == "break" || name == "continue") {
    if (loops_ == 0)
      return fail_at(at, ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" stands outside of a loop", name));
    PUNA_TRY(tokens_.expect_block_end());
    return Statement{.kind = name == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue,
                     .at = at};
  }
  if (name.starts_with("end") || name == "else" || name == "elif") {
    return fail_at(at, ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" has no block to belong to", name));
  }
  static constexpr std::string_view kOtherFiles[] = {"extends", "from", "import", "include"};
  const bool other_files = std::ranges::find(kOtherFiles, name) != std::end(kOtherFiles);
  return fail_at(at, ErrorCode::kUnsupported,
                 fmt::format("the statement \"{}\" is not supported{}", name,
                             other_files ? ", as a chat template is one file" : ""));
}

// The end of a tag that a body follows; a colon may stand before it.
Result<void> Parser::body_begins() {
  tokens_.skip_operator(":");
  return tokens_.expect_block_end();
}

// The name of an end block and its "%}".
Result<void> Parser::end_of(std::string_view name) {
  if (!tokens_.skip_name(name)) return tokens_.unexpected_token(fmt::format("\"{}\"", name));
  return tokens_.expect_block_end();
}

Result<Statement> Parser::if_statement(Position at) {
  Statement out{.kind = Statement::Kind::kIf, .at = at};
  while (true) {
    PUNA_TRY(ExpressionPtr decider, expressions_.tuple(/*with_condition=*/false));
    out.expressions.push_back(std::move(decider));
    PUNA_TRY(body_begins());
    expressions_.enter_branch();
    PUNA_TRY(Block then, block({"elif", "else", "endif"}, "if", at));
    expressions_.leave_branch();
    out.blocks.push_back(std::move(then));
    if (!tokens_.skip_name("elif")) break;
  }
  if (tokens_.skip_name("else")) {
    PUNA_TRY(body_begins());
    expressions_.enter_branch();
    PUNA_TRY(Block otherwise, block({"endif"}, "if", at));
    expressions_.leave_branch();
    out.blocks.push_back(std::move(otherwise));
  }
  PUNA_TRY(end_of("endif"));
  return out;
}

Result<Statement> Parser::for_statement(Position at) {
  Statement out{.kind = Statement::Kind::kFor, .at = at};
  PUNA_TRY(Target item, target(/*allow_member=*/false));
  if (names(item, "loop")) {
    return fail_at(item.at, ErrorCode::kInvalidArgument,
                   "the variable \"loop\" of a loop cannot be one that it assigns to");
  }
  out.targets.push_back(std::move(item));
  if (!tokens_.skip_name("in")) return tokens_.unexpected_token("\"in\"");
  PUNA_TRY(ExpressionPtr over, expressions_.tuple(/*with_condition=*/false));
  out.expressions.push_back(std::move(over));
  out.expressions.emplace_back();
  if (tokens_.skip_name("if")) {
    PUNA_TRY(out.expressions[1], expressions_.condition());
  }
  out.recursive = tokens_.skip_name("recursive");
  PUNA_TRY(body_begins());
  ++loops_;
  Result<Block> body = block({"else", "endfor"}, "for", at);
  --loops_;
  if (!body) return std::unexpected(std::move(body.error()));
  out.blocks.push_back(*std::move(body));
  if (tokens_.skip_name("else")) {
    PUNA_TRY(body_begins());
    PUNA_TRY(Block otherwise, block({"endfor"}, "for", at));
    out.blocks.push_back(std::move(otherwise));
  }
  PUNA_TRY(end_of("endfor"));
  return out;
}

Result<Statement> Parser::set_statement(Position at) {
  Statement out{.kind = Statement::Kind::kSet, .at = at};
  PUNA_TRY(Target to, target(/*allow_member=*/true));
  out.targets.push_back(std::move(to));
  if (tokens_.skip_operator("=")) {
    PUNA_TRY(ExpressionPtr value, expressions_.tuple(/*with_condition=*/true));
    out.expressions.push_back(std::move(value));
    PUNA_TRY(tokens_.expect_block_end());
    return out;
  }
  out.kind = Statement::Kind::kSetBlock;
  out.expressions.emplace_back();
  if (tokens_.skip_operator("|")) {
    PUNA_TRY(out.expressions[0], output_filters());
  }
  PUNA_TRY(body_begins());
  PUNA_TRY(Block body, block({"endset"}, "set", at));
  out.blocks.push_back(std::move(body));
  PUNA_TRY(end_of("endset"));
  return out;
}

// {% filter a | b %}: the output of its block through the filters.
Result<Statement> Parser::filter_statement(Position at) {
  Statement out{.kind = Statement::Kind::kFilter, .at = at};
  PUNA_TRY(ExpressionPtr filters, output_filters());
  out.expressions.push_back(std::move(filters));
  PUNA_TRY(body_begins());
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
  Statement out{.kind = Statement::Kind::kWith, .at = at};
  while (tokens_.now().kind != TokenKind::kBlockEnd) {
    if (tokens_.now().is_operator(":")) break;
    if (!out.targets.empty()) PUNA_TRY(tokens_.expect_operator(","));
    PUNA_TRY(Target to, target(/*allow_member=*/false));
    PUNA_TRY(tokens_.expect_operator("="));
    PUNA_TRY(ExpressionPtr value, expressions_.condition());
    out.targets.push_back(std::move(to));
    out.expressions.push_back(std::move(value));
  }
  PUNA_TRY(body_begins());
  PUNA_TRY(Block body, block({"endwith"}, "with", at));
  out.blocks.push_back(std::move(body));
  PUNA_TRY(end_of("endwith"));
  return out;
}

// {% generation %} marks what the model wrote; it writes nothing of its own. As a block of its own
// function, nothing in it ends a loop around it.
Result<Statement> Parser::generation_statement(Position at) {
  Statement out{.kind = Statement::Kind::kScope, .at = at};
  PUNA_TRY(body_begins());
  const int loops = std::exchange(loops_, 0);
  Result<Block> body = block({"endgeneration"}, "generation", at);
  loops_ = loops;
  if (!body) return std::unexpected(std::move(body.error()));
  out.blocks.push_back(*std::move(body));
  PUNA_TRY(end_of("endgeneration"));
  return out;
}

Result<Statement> Parser::print_statement(Position at) {
  Statement out{.kind = Statement::Kind::kOutput, .at = at};
  while (tokens_.now().kind != TokenKind::kBlockEnd) {
    if (!out.expressions.empty()) PUNA_TRY(tokens_.expect_operator(","));
    PUNA_TRY(ExpressionPtr shown, expressions_.condition());
    out.expressions.push_back(std::move(shown));
  }
  PUNA_TRY(tokens_.expect_block_end());
  return out;
}

// {% block name scoped required %}: without inheritance, its body where it stands.
Result<Statement> Parser::block_statement(Position at) {
  Statement out{.kind = Statement::Kind::kBlock, .at = at};
  PUNA_TRY(out.text, tokens_.expect_name("the name of a block"));
  if (std::ranges::find(block_names_, out.text) != block_names_.end()) {
    return fail_at(at, ErrorCode::kInvalidArgument,
                   fmt::format("the block \"{}\" is defined twice", out.text));
  }
  block_names_.push_back(out.text);
  out.scoped = tokens_.skip_name("scoped");
  if (tokens_.now().is_name("required")) {
    return fail_at(tokens_.now().at, ErrorCode::kUnsupported,
                   "a required block is not supported, as a chat template is one file");
  }
  PUNA_TRY(body_begins());
  const int loops = std::exchange(loops_, 0);
  Result<Block> body = block({"endblock"}, "block", at);
  loops_ = loops;
  if (!body) return std::unexpected(std::move(body.error()));
  out.blocks.push_back(*std::move(body));
  if (!tokens_.skip_name("endblock")) return tokens_.unexpected_token("\"endblock\"");
  tokens_.skip_name(out.text);
  PUNA_TRY(tokens_.expect_block_end());
  return out;
}

// Nothing is escaped unasked, so only {% autoescape false %} is known.
Result<Statement> Parser::autoescape_statement(Position at) {
  Statement out{.kind = Statement::Kind::kScope, .at = at};
  if (!tokens_.skip_name("false") && !tokens_.skip_name("False")) {
    return fail_at(at, ErrorCode::kUnsupported,
                   "the statement \"autoescape\" is not supported other than as "
                   "\"autoescape false\"");
  }
  PUNA_TRY(body_begins());
  PUNA_TRY(Block body, block({"endautoescape"}, "autoescape", at));
  out.blocks.push_back(std::move(body));
  PUNA_TRY(end_of("endautoescape"));
  return out;
}

Result<Statement> Parser::macro_statement(Position at) {
  Statement out{.kind = Statement::Kind::kMacro, .at = at};
  PUNA_TRY(out.text, tokens_.expect_name("the name of a macro"));
  PUNA_TRY(tokens_.expect_operator("("));
  PUNA_TRY(parameters(out));
  PUNA_TRY(macro_body(out, "endmacro"));
  return out;
}

// {% call(parameters) name(...) %}: its block is what name sees as caller().
Result<Statement> Parser::call_statement(Position at) {
  Statement out{.kind = Statement::Kind::kCall, .at = at, .text = "caller"};
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
  PUNA_TRY(body_begins());
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

// A target, or several with commas between them to unpack into.
Result<Target> Parser::target(bool allow_member) {
  PUNA_TRY(Target first, single_target(allow_member));
  if (!tokens_.now().is_operator(",")) return first;
  Target list{.at = first.at};
  list.parts.push_back(std::move(first));
  while (tokens_.skip_operator(",")) {
    const Token& now = tokens_.now();
    if (now.is_operator(")") || now.is_operator("=") || now.is_name("in") ||
        now.kind == TokenKind::kBlockEnd)
      break;
    PUNA_TRY(Target next, single_target(allow_member));
    list.parts.push_back(std::move(next));
  }
  return list;
}

// name, name.member, or targets in parentheses.
Result<Target> Parser::single_target(bool allow_member) {
  Target out{.at = tokens_.now().at};
  if (tokens_.skip_operator("(")) {
    if (++nesting_ > kMaxNesting) {
      return fail_at(out.at, ErrorCode::kUnsupported,
                     fmt::format("the names nest deeper than {} levels", kMaxNesting));
    }
    PUNA_TRY(out, target(/*allow_member=*/false));
    --nesting_;
    PUNA_TRY(tokens_.expect_operator(")"));
    return out;
  }
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
