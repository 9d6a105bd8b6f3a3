#include <unordered_map>

#include "grammar/expression.h"

namespace puna::grammar {

// The parts of a node come before it, so all that is needed is made in order of ids, and texts of
// any length nest no calls.
Expression Expressions::substitute(Expression part, std::span<const Expression, 256> with) {
  std::vector<bool> needed(part.id + 1);
  needed[part.id] = true;
  for (uint32_t id = part.id + 1; id-- > 0;) {
    if (!needed[id]) continue;
    const Node& node = nodes_[id];
    switch (node.kind) {
      case Kind::kSequence:
        needed[node.a] = needed[node.b] = true;
        break;
      case Kind::kChoice:
      case Kind::kBoth:
        for (const uint32_t inner : parts(node)) needed[inner] = true;
        break;
      case Kind::kComplement:
      case Kind::kRepeat:
        needed[node.a] = true;
        break;
      default:
        break;
    }
  }
  const Expression any = repeat(choice(with), 0, kUnbounded);
  std::vector<Expression> made(part.id + 1);
  for (uint32_t id = 0; id <= part.id; ++id) {
    if (!needed[id]) continue;
    const Node node = nodes_[id];
    std::vector<Expression> inner;
    switch (node.kind) {
      case Kind::kBytes:
        for (uint32_t byte = 0; byte < 256; ++byte) {
          if (sets_[node.a].contains(static_cast<uint8_t>(byte))) inner.push_back(with[byte]);
        }
        made[id] = choice(inner);
        break;
      case Kind::kSequence:
        made[id] = sequence({made[node.a], made[node.b]});
        break;
      case Kind::kChoice:
        for (const uint32_t each : parts(node)) inner.push_back(made[each]);
        made[id] = choice(inner);
        break;
      case Kind::kBoth:
        for (const uint32_t each : parts(node)) inner.push_back(made[each]);
        made[id] = inner.front();
        for (const Expression each : std::span(inner).subspan(1)) made[id] = both(made[id], each);
        break;
      case Kind::kComplement:
        made[id] = both(any, complement(made[node.a]));
        break;
      case Kind::kRepeat:
        made[id] = repeat(made[node.a], node.least, node.most);
        break;
      default:
        made[id] = {id};
        break;
    }
  }
  return made[part.id];
}

}  // namespace puna::grammar
