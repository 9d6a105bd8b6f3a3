#include "grammar/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "grammar/gbnf_tree.h"
#include "grammar/vocabulary.h"

namespace puna::grammar {

namespace {

using Kind = GbnfTree::Kind;

// Parts that are not recursive become lexemes as large as this, in nodes with those of rules that
// they use: large ones are matched quicker, but their automata are dearer to make.
constexpr uint64_t kMostOfLexeme = 400;
// A count above this in another such count would be too many states: it is counted by rules.
constexpr uint32_t kLargeCount = 16;

class GbnfCompiler {
 public:
  GbnfCompiler(const GbnfTree& tree, Builder& builder) : tree_(tree), builder_(builder) {}

  base::Result<Symbol> compile() {
    measure();
    symbols_.resize(tree_.rules.size());
    expressions_.resize(tree_.rules.size());
    const Symbol start = symbol_of_rule(tree_.root);
    // Rules wait here, so that a long chain of them takes no stack.
    while (!open_.empty()) {
      const uint32_t rule = open_.back();
      open_.pop_back();
      builder_.define(*symbols_[rule], symbol(tree_.rules[rule].body));
      if (builder_.expressions().n_nodes() > builder_.limits().expressions)
        return over_limit("The expressions of the grammar have", builder_.limits().expressions,
                          "expressions");
      PUNA_TRY(builder_.deadline().check());
    }
    return start;
  }

 private:
  // How large a node is as a lexeme; nothing where it cannot be one.
  struct Size {
    uint64_t nodes = 0;
    bool counts = false;  // a large count in it
    bool regular = false;
  };

  // The sizes of all nodes. Those of rules are known from when all they use are known, so what is
  // recursive never is.
  void measure() {
    sizes_.resize(tree_.nodes.size());
    rule_sizes_.resize(tree_.rules.size());
    std::vector<std::vector<uint32_t>> users(tree_.rules.size());
    std::vector<uint32_t> n_unknown(tree_.rules.size());
    std::vector<uint32_t> open;
    for (uint32_t rule = 0; rule < tree_.rules.size(); ++rule) {
      std::vector<uint32_t> nodes{tree_.rules[rule].body};
      while (!nodes.empty()) {
        const GbnfTree::Node& node = tree_.nodes[nodes.back()];
        nodes.pop_back();
        nodes.insert(nodes.end(), node.parts.begin(), node.parts.end());
        if (node.kind != Kind::kRule) continue;
        users[node.rule].push_back(rule);
        ++n_unknown[rule];
      }
      if (n_unknown[rule] == 0) open.push_back(rule);
    }
    while (!open.empty()) {
      const uint32_t rule = open.back();
      open.pop_back();
      rule_sizes_[rule] = measure(tree_.rules[rule].body);
      for (const uint32_t user : users[rule]) {
        if (--n_unknown[user] == 0) open.push_back(user);
      }
    }
    // The rest is recursive, but parts of it need not be.
    for (uint32_t rule = 0; rule < tree_.rules.size(); ++rule) {
      if (n_unknown[rule] > 0) measure(tree_.rules[rule].body);
    }
  }

  Size measure(uint32_t id) {
    const GbnfTree::Node& node = tree_.nodes[id];
    Size size{1, false, true};
    switch (node.kind) {
      case Kind::kCharacters:
        break;
      case Kind::kLiteral:
        size.nodes = node.bytes.size();
        break;
      case Kind::kRule:
        size = rule_sizes_[node.rule];
        ++size.nodes;
        break;
      case Kind::kSequence:
      case Kind::kChoice:
        for (const uint32_t part : node.parts) {
          const Size inner = measure(part);
          size.nodes += inner.nodes;
          size.counts |= inner.counts;
          size.regular &= inner.regular;
        }
        break;
      case Kind::kRepeat: {
        const Size inner = measure(node.parts.front());
        const uint32_t count = node.most == kUnbounded ? node.least : node.most;
        // A repetition in a repetition may be one.
        const bool merges = tree_.nodes[node.parts.front()].kind == Kind::kRepeat;
        size.nodes += inner.nodes * (count > kLargeCount ? 1 : std::max(count, 1u));
        size.regular = inner.regular && (merges || !inner.counts || count <= 1);
        size.counts = inner.counts || count > kLargeCount;
        break;
      }
    }
    size.nodes = std::min(size.nodes, kMostOfLexeme * 256);  // so that sums stay small
    // A text of its own is a lexeme whatever its length.
    if (node.kind != Kind::kLiteral) size.regular &= size.nodes <= kMostOfLexeme;
    sizes_[id] = size;
    return size;
  }

  Expression expression(uint32_t id) {
    Expressions& e = builder_.expressions();
    const GbnfTree::Node& node = tree_.nodes[id];
    std::vector<Expression> parts;
    switch (node.kind) {
      case Kind::kCharacters:
        return e.characters(node.set);
      case Kind::kLiteral:
        return e.literal(node.bytes);
      case Kind::kRule:
        if (!expressions_[node.rule])
          expressions_[node.rule] = expression(tree_.rules[node.rule].body);
        return *expressions_[node.rule];
      case Kind::kRepeat:
        return e.repeat(expression(node.parts.front()), node.least, node.most);
      case Kind::kSequence:
      case Kind::kChoice:
        break;
    }
    for (const uint32_t part : node.parts) parts.push_back(expression(part));
    return node.kind == Kind::kSequence ? e.sequence(parts) : e.choice(parts);
  }

  Symbol symbol_of_rule(uint32_t rule) {
    if (symbols_[rule]) return *symbols_[rule];
    const std::string& name = tree_.rules[rule].name;
    if (rule_sizes_[rule].regular) {
      symbols_[rule] =
          builder_.lexeme(expression(tree_.rules[rule].body), fmt::format("rule \"{}\"", name));
    } else {
      symbols_[rule] = builder_.declare(name);
      open_.push_back(rule);
    }
    return *symbols_[rule];
  }

  Symbol symbol(uint32_t id) {
    const GbnfTree::Node& node = tree_.nodes[id];
    if (node.kind == Kind::kRule) return symbol_of_rule(node.rule);
    if (sizes_[id].regular) return builder_.lexeme(expression(id));
    if (node.kind == Kind::kRepeat)
      return builder_.repeat(symbol(node.parts.front()), node.least, node.most);
    return node.kind == Kind::kChoice ? choice(node) : sequence(node);
  }

  // Texts are one lexeme however many they are, other parts that are regular as far as it stays
  // small.
  Symbol choice(const GbnfTree::Node& node) {
    std::vector<Symbol> parts;
    std::vector<std::string> texts;
    std::vector<Expression> together;
    uint64_t nodes = 0;
    const auto flush = [&] {
      parts.push_back(builder_.lexeme(builder_.expressions().choice(together)));
      together.clear();
      nodes = 0;
    };
    for (const uint32_t part : node.parts) {
      if (tree_.nodes[part].kind == Kind::kLiteral) {
        texts.push_back(tree_.nodes[part].bytes);
      } else if (!sizes_[part].regular) {
        parts.push_back(symbol(part));
      } else {
        nodes += sizes_[part].nodes;
        if (!together.empty() && nodes > kMostOfLexeme) flush();
        together.push_back(expression(part));
      }
    }
    if (!together.empty()) flush();
    parts.push_back(builder_.lexeme(builder_.expressions().literals(std::move(texts))));
    return builder_.choice(parts);
  }

  Symbol sequence(const GbnfTree::Node& node) {
    std::vector<Symbol> parts;
    // Neighbours that are regular are one lexeme, as far as it stays small.
    for (size_t i = 0; i < node.parts.size();) {
      if (!sizes_[node.parts[i]].regular) {
        parts.push_back(symbol(node.parts[i++]));
        continue;
      }
      std::vector<Expression> together;
      uint64_t nodes = 0;
      for (; i < node.parts.size() && sizes_[node.parts[i]].regular; ++i) {
        nodes += sizes_[node.parts[i]].nodes;
        if (!together.empty() && nodes > kMostOfLexeme) break;
        together.push_back(expression(node.parts[i]));
      }
      parts.push_back(builder_.lexeme(builder_.expressions().sequence(together)));
    }
    return builder_.sequence(parts);
  }

  const GbnfTree& tree_;
  Builder& builder_;
  std::vector<Size> sizes_;  // of nodes
  std::vector<Size> rule_sizes_;
  std::vector<std::optional<Symbol>> symbols_;          // of rules
  std::vector<std::optional<Expression>> expressions_;  // of regular rules
  std::vector<uint32_t> open_;                          // rules that are declared only
};

// A literal with a mark in it becomes what stands before, the mark or its token, and the rest.
void allow_controls(GbnfTree& tree, std::span<const std::string> controls) {
  const auto add = [&](GbnfTree::Node node) {
    tree.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree.nodes.size() - 1);
  };
  const auto literal = [&](std::string bytes) {
    return add({.kind = Kind::kLiteral, .bytes = std::move(bytes)});
  };
  // What is added is looked at too.
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].kind != Kind::kLiteral || tree.nodes[i].bytes.starts_with(kControl)) continue;
    const std::string bytes = tree.nodes[i].bytes;
    for (const std::string& mark : controls) {
      const size_t at = mark.empty() ? bytes.npos : bytes.find(mark);
      if (at == bytes.npos || bytes == mark) {
        if (at == bytes.npos) continue;
        const uint32_t token = literal(std::string(kControl) + mark);
        // In two halves, so that it is not found again.
        const uint32_t plain =
            add({.kind = Kind::kSequence,
                 .parts = {literal(mark.substr(0, 1)), literal(mark.substr(1))}});
        tree.nodes[i] = {.kind = Kind::kChoice, .parts = {token, plain}};
      } else {
        const uint32_t before = literal(bytes.substr(0, at)), inside = literal(mark);
        const uint32_t behind = literal(bytes.substr(at + mark.size()));
        tree.nodes[i] = {.kind = Kind::kSequence, .parts = {before, inside, behind}};
      }
      break;
    }
  }
}

}  // namespace

base::Result<Symbol> write_gbnf(Builder& builder, std::string_view text,
                                std::span<const std::string> controls) {
  PUNA_TRY(GbnfTree tree, parse_gbnf(text, builder.limits()));
  if (!controls.empty()) allow_controls(tree, controls);
  return GbnfCompiler(tree, builder).compile();
}

base::Result<std::shared_ptr<const Grammar>> gbnf_grammar(std::string_view text,
                                                          const Limits& limits) {
  Builder builder(limits);
  PUNA_TRY(const Symbol start, write_gbnf(builder, text));
  return std::move(builder).build(start);
}

}  // namespace puna::grammar
