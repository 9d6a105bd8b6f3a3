#include "grammar/lazy.h"

#include <algorithm>
#include <array>
#include <vector>

#include "grammar/regex.h"
#include "grammar/vocabulary.h"

namespace puna::grammar {

Expression any_bytes(Expressions& expressions) {
  return expressions.repeat(expressions.bytes(ByteSet::range(0, 255)), 0, kUnbounded);
}

Expression free_of(Expressions& expressions, Expression found) {
  return not_beginning(expressions, expressions.sequence({any_bytes(expressions), found}));
}

Expression not_beginning(Expressions& expressions, Expression begin) {
  const Expression any = any_bytes(expressions);
  return expressions.without(any, expressions.sequence({begin, any}));
}

// The automaton of Aho and Corasick (1975) without what it finds.
Expression lacking(Expressions& expressions, std::span<const std::string> texts) {
  struct Node {
    std::array<uint32_t, 256> next{};  // 0, the root: no text goes on so
    uint32_t fallback = 0;             // the longest other node that the text ends with
    bool found = false;
  };
  std::vector<Node> nodes(1);
  for (const std::string& text : texts) {
    uint32_t at = 0;
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      if (nodes[at].next[byte] == 0) {
        nodes[at].next[byte] = static_cast<uint32_t>(nodes.size());
        nodes.emplace_back();
      }
      at = nodes[at].next[byte];
    }
    nodes[at].found = true;
  }
  // In order of their depth: what a node lacks, its fallback has.
  std::vector<uint32_t> order{0};
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t at = order[i];
    nodes[at].found = nodes[at].found || nodes[nodes[at].fallback].found;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t behind = at == 0 ? 0 : nodes[nodes[at].fallback].next[byte];
      uint32_t& next = nodes[at].next[byte];
      if (next == 0) {
        next = behind;
      } else {
        nodes[next].fallback = behind;
        order.push_back(next);
      }
    }
  }
  std::vector<AutomatonState> states(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    states[i].accepts = !nodes[i].found;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t to = nodes[i].next[byte];
      if (nodes[i].found || nodes[to].found) continue;
      auto& edges = states[i].next;
      auto edge = std::ranges::find(edges, to, &AutomatonState::Edge::to);
      if (edge == edges.end()) edge = edges.insert(edge, {ByteSet(), to});
      edge->bytes.add(static_cast<uint8_t>(byte));
    }
  }
  return expressions.automaton(states, 0);
}

Expression with_controls(Expressions& expressions, Expression marked, std::string_view bytes) {
  std::array<Expression, 256> with;
  for (uint32_t byte = 0; byte < with.size(); ++byte) {
    const char c = static_cast<char>(byte);
    with[byte] = expressions.literal(std::string_view(&c, 1));
    if (bytes.find(c) != std::string_view::npos)
      with[byte] =
          expressions.sequence({expressions.optional(expressions.literal(kControl)), with[byte]});
  }
  return expressions.substitute(marked, with);
}

base::Result<Symbol> write_lazily(Builder& builder, Symbol bound,
                                  std::span<const Trigger> triggers) {
  Expressions& e = builder.expressions();
  std::vector<std::string> texts;
  std::vector<Expression> anywhere, from_start;
  for (const Trigger& trigger : triggers) {
    if (trigger.kind == Trigger::Kind::kText) {
      texts.push_back(trigger.text);
      continue;
    }
    PUNA_TRY(const Expression pattern,
             regex_expression(e, trigger.text, RegexFit::kWhole, builder.limits()));
    (trigger.kind == Trigger::Kind::kPattern ? anywhere : from_start).push_back(pattern);
  }
  Expression free = lacking(e, texts);
  if (!anywhere.empty()) free = e.both(free, free_of(e, e.choice(anywhere)));
  if (!from_start.empty()) free = e.both(free, not_beginning(e, e.choice(from_start)));
  const Symbol before = builder.lexeme(free, "what is free");
  return builder.choice({before, builder.sequence({before, bound})});
}

}  // namespace puna::grammar
