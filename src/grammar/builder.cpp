#include <algorithm>
#include <utility>

#include "base/check.h"
#include "grammar/builder_parts.h"
#include "grammar/compile.h"
#include "grammar/grammar.h"

namespace puna::grammar {

namespace {

using Kind = Builder::Parts::Kind;

// Sequences in sequences and choices in choices are taken apart, unless they are so long that this
// could repeat them without end.
constexpr size_t kMostFlattened = 32;

}  // namespace

Symbol Builder::Parts::add(Node node) {
  nodes.push_back(std::move(node));
  return {static_cast<uint32_t>(nodes.size() - 1)};
}

Symbol Builder::Parts::add(Kind kind, std::span<const Symbol> of) {
  Node node;
  node.kind = kind;
  for (const Symbol part : of) {
    const Node& inner = nodes[part.id];
    if (inner.kind == kind && inner.parts.size() <= kMostFlattened) {
      node.parts.insert(node.parts.end(), inner.parts.begin(), inner.parts.end());
    } else {
      node.parts.push_back(part.id);
    }
  }
  if (node.parts.size() == 1) return {node.parts.front()};
  return add(std::move(node));
}

Builder::Builder(const Limits& limits) : parts_(std::make_unique<Parts>(limits)) {}
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;

const Limits& Builder::limits() const { return parts_->limits; }
const Deadline& Builder::deadline() const { return parts_->deadline; }
Expressions& Builder::expressions() { return parts_->expressions; }

Symbol Builder::Parts::lexeme(Expression expression, std::string_view name) {
  const auto [at, is_new] =
      lexeme_of.try_emplace(expression.id, static_cast<uint32_t>(lexemes.size()));
  if (!is_new) return {lexemes[at->second].node};
  Node node;
  node.kind = Kind::kLexeme;
  node.lexeme = at->second;
  const Symbol out = add(std::move(node));
  lexemes.push_back({expression, std::string(name), out.id});
  return out;
}

Symbol Builder::lexeme(Expression expression, std::string_view name) {
  if (expression == expressions().empty()) return empty();
  if (expression == expressions().nothing()) return nothing();
  return parts_->lexeme(expression, name);
}

Symbol Builder::literal(std::string_view bytes) { return lexeme(expressions().literal(bytes)); }

Symbol Builder::empty() { return sequence({}); }
Symbol Builder::nothing() { return choice({}); }

Symbol Builder::sequence(std::span<const Symbol> parts) {
  return parts_->add(Kind::kSequence, parts);
}

Symbol Builder::choice(std::span<const Symbol> parts) { return parts_->add(Kind::kChoice, parts); }

Symbol Builder::repeat(Symbol part, uint32_t least, uint32_t most) {
  PUNA_CHECK(least <= most && least != kUnbounded);
  if (most == 0) return empty();
  if (least == 1 && most == 1) return part;
  if (least == 0 && most == 1) return choice({empty(), part});
  Parts::Node node;
  node.kind = Kind::kRepeat;
  node.least = least;
  node.most = most;
  node.parts.push_back(part.id);
  return parts_->add(std::move(node));
}

Symbol Builder::declare(std::string_view name) {
  Parts::Node node;
  node.kind = Kind::kDeclared;
  node.name = std::string(name);
  return parts_->add(std::move(node));
}

void Builder::define(Symbol declared, Symbol body) {
  Parts::Node& node = parts_->nodes[declared.id];
  PUNA_CHECK(node.kind == Kind::kDeclared && node.parts.empty());
  node.parts.push_back(body.id);
}

void Builder::need(Symbol part, std::string_view what) {
  parts_->needs.push_back({part.id, std::string(what)});
}

base::Result<std::shared_ptr<const Grammar>> Builder::build(Symbol start) && {
  return compile(*parts_, start);
}

}  // namespace puna::grammar
