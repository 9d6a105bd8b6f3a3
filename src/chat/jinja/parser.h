// Builds the tree of a template out of its tokens, with Jinja's precedences. Statements are in
// parser.cpp, expressions in expression_parser.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat/jinja/ast.h"
#include "chat/jinja/lexer.h"

namespace puna::chat::jinja {

// Errors: kInvalidArgument or kUnsupported, with line and column.
base::Result<Block> parse(std::string_view source);

// Reads tokens one after another.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Token take() { return at_ + 1 < tokens_.size() ? std::move(tokens_[at_++]) : tokens_[at_]; }
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);
  base::Result<void> expect_operator(std::string_view op);
  base::Result<std::string> expect_name(std::string_view what);
  base::Result<void> expect_block_end();
  // "unexpected ..., but ... is expected", here.
  std::unexpected<base::Error> unexpected_token(std::string_view wanted) const;

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  base::Result<ExpressionPtr> condition();                 // a if b else c
  base::Result<ExpressionPtr> disjunction();               // without that form
  base::Result<ExpressionPtr> tuple(bool with_condition);  // a, b or a alone
  base::Result<ExpressionPtr> filter(
      ExpressionPtr input);  // input | name(...), the name being the next token

  // Inside a branch, as in Jinja, an unknown filter or test is an error only when it is reached.
  void enter_branch() { ++branches_; }
  void leave_branch() { --branches_; }

  // Which of a macro's own names were read since this was last exchanged.
  MacroNames exchange_names(MacroNames names) { return std::exchange(names_, names); }

 private:
  base::Result<ExpressionPtr> conjunction();
  base::Result<ExpressionPtr> negation();
  base::Result<ExpressionPtr> comparison();
  base::Result<ExpressionPtr> sum();
  base::Result<ExpressionPtr> concatenation();
  base::Result<ExpressionPtr> product();
  base::Result<ExpressionPtr> power();
  base::Result<ExpressionPtr> unary(bool with_filters);
  base::Result<ExpressionPtr> primary();
  base::Result<ExpressionPtr> postfix(ExpressionPtr node);
  base::Result<ExpressionPtr> test(ExpressionPtr node);
  base::Result<ExpressionPtr> subscript(ExpressionPtr node);
  base::Result<ExpressionPtr> dict_literal(Position at);
  base::Result<void> sequence(Expression& node, std::string_view close);
  base::Result<void> arguments(Expression& node);
  base::Result<void> argument(Expression& node);
  base::Result<ExpressionPtr> finish(ExpressionPtr node) const;

  TokenStream& tokens_;
  int nesting_ = 0;
  int branches_ = 0;
  MacroNames names_;
};

}  // namespace puna::chat::jinja
