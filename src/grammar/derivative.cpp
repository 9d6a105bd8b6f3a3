#include "grammar/derivative.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace puna::grammar {

Expression Derivatives::derive(Expression of, uint8_t byte, Guard guard) {
  byte_ = byte;
  guard_ = guard;
  ++turn_;
  return {derive(of.id)};
}

uint32_t Derivatives::derive(uint32_t id) {
  if (id >= known_in_.size()) {
    known_in_.resize(e_.nodes_.size() * 2, 0);
    known_.resize(known_in_.size());
  }
  if (known_in_[id] == turn_) return known_[id];
  const Expressions::Node node = e_.nodes_[id];
  uint32_t out = e_.nothing().id;
  switch (node.kind) {
    case Kind::kNothing:
    case Kind::kEmpty:
      break;
    case Kind::kBytes:
      if (e_.sets_[node.a].contains(byte_)) out = e_.empty().id;
      break;
    case Kind::kSequence: {
      // Every part that only nullable ones stand before may take the byte.
      std::vector<uint32_t> branches;
      for (uint32_t at = id;;) {
        const Expressions::Node part = e_.nodes_[at];
        if (part.kind != Kind::kSequence) {
          branches.push_back(derive(at));
          break;
        }
        branches.push_back(e_.pair({derive(part.a)}, {part.b}).id);
        if (!nullable({part.a}, guard_)) break;
        at = part.b;
      }
      out = e_.many(Kind::kChoice, branches).id;
      break;
    }
    case Kind::kChoice:
    case Kind::kBoth: {
      std::vector<uint32_t> branches(e_.parts(node).begin(), e_.parts(node).end());
      for (uint32_t& branch : branches) branch = derive(branch);
      out = e_.many(node.kind, branches).id;
      break;
    }
    case Kind::kComplement:
      out = e_.complement({derive(node.a)}).id;
      break;
    case Kind::kAutomaton:
      for (const AutomatonState::Edge& edge : e_.states_[node.a].next) {
        if (edge.bytes.contains(byte_)) out = edge.to;
      }
      break;
    case Kind::kRepeat:
    case Kind::kCounted:
      out = derive_repeat(id);
      break;
  }
  known_in_[id] = turn_;
  known_[id] = out;
  return out;
}

uint32_t Derivatives::derive_repeat(uint32_t id) {
  const Expressions::Node node = e_.nodes_[id];
  if (node.kind == Kind::kCounted) {
    if (!guard_.more) return e_.nothing().id;
    const Expression rest = e_.counted({node.counted}, CounterStep::kNext);
    return e_.pair({derive(node.a)}, rest).id;
  }
  const uint32_t count = node.most == kUnbounded ? node.least : node.most;
  const Expression rest = count > 1 && count > counted_from_
                              ? e_.counted({id}, CounterStep::kFirst)
                              : e_.repeat({node.a}, node.least == 0 ? 0 : node.least - 1,
                                          node.most == kUnbounded ? kUnbounded : node.most - 1);
  return e_.pair({derive(node.a)}, rest).id;
}

bool Derivatives::nullable(Expression of, Guard guard) const {
  for (uint32_t id = of.id;;) {
    const Expressions::Node& node = e_.nodes_[id];
    if (node.counted == Expressions::kNone) return node.nullable;
    switch (node.kind) {
      case Kind::kCounted:
        return guard.leave;
      case Kind::kSequence:
        if (!nullable({node.a}, guard)) return false;
        id = node.b;
        continue;
      case Kind::kChoice:
        return std::ranges::any_of(e_.parts(node),
                                   [&](uint32_t part) { return nullable({part}, guard); });
      case Kind::kBoth:
        return std::ranges::all_of(e_.parts(node),
                                   [&](uint32_t part) { return nullable({part}, guard); });
      case Kind::kComplement:
        return !nullable({node.a}, guard);
      default:
        // A repetition of what is counted already is never made.
        return node.nullable;
    }
  }
}

ByteSet Derivatives::first_bytes(Expression of) const {
  ByteSet out;
  for (uint32_t id = of.id;;) {
    const Expressions::Node& node = e_.nodes_[id];
    switch (node.kind) {
      case Kind::kNothing:
      case Kind::kEmpty:
        return out;
      case Kind::kBytes:
        out |= e_.sets_[node.a];
        return out;
      case Kind::kSequence:
        out |= first_bytes({node.a});
        if (!nullable({node.a}, Guard())) return out;
        id = node.b;
        continue;
      case Kind::kChoice:
        for (const uint32_t part : e_.parts(node)) out |= first_bytes({part});
        return out;
      case Kind::kRepeat:
      case Kind::kCounted:
        out |= first_bytes({node.a});
        return out;
      case Kind::kBoth: {
        ByteSet of_all = ByteSet::range(0, 255);
        for (const uint32_t part : e_.parts(node)) of_all &= first_bytes({part});
        out |= of_all;
        return out;
      }
      case Kind::kComplement:
        return ByteSet::range(0, 255);
      case Kind::kAutomaton:
        for (const AutomatonState::Edge& edge : e_.states_[node.a].next) out |= edge.bytes;
        return out;
    }
  }
}

Derivatives::Counter Derivatives::counter(Expression of) const {
  const Expressions::Node& node = e_.nodes_[of.id];
  Counter out;
  if (node.counted == Expressions::kNone) return out;
  if (node.counted == Expressions::kSeveral || std::popcount(node.steps) != 1) {
    out.several = true;
    return out;
  }
  const Expressions::Node& repeated = e_.nodes_[node.counted];
  out.least = repeated.least;
  out.most = repeated.most;
  out.step = static_cast<CounterStep>(std::countr_zero(node.steps));
  return out;
}

Expression Derivatives::settled(Expression of) {
  static constexpr uint8_t kSettled = 1u << static_cast<uint32_t>(CounterStep::kSame);
  std::vector<uint32_t> firsts;
  uint32_t id = of.id;
  Expression out;
  for (;;) {
    const Expressions::Node node = e_.nodes_[id];
    if ((node.steps & ~kSettled) == 0) {
      out = {id};
      break;
    }
    if (node.kind == Kind::kSequence) {
      firsts.push_back(settled({node.a}).id);
      id = node.b;
      continue;
    }
    PUNA_CHECK(node.kind == Kind::kCounted || node.kind == Kind::kChoice);
    if (node.kind == Kind::kCounted) {
      out = e_.counted({node.counted}, CounterStep::kSame);
    } else {
      std::vector<uint32_t> branches(e_.parts(node).begin(), e_.parts(node).end());
      for (uint32_t& branch : branches) branch = settled({branch}).id;
      out = e_.many(Kind::kChoice, branches);
    }
    break;
  }
  while (!firsts.empty()) {
    out = e_.pair({firsts.back()}, out);
    firsts.pop_back();
  }
  return out;
}

Survey Derivatives::survey(Expression of) {
  Survey out;
  out.has_logic = e_.nodes_[of.id].has_logic;
  std::vector<uint32_t> open;
  std::vector<ByteSet> sets;
  ++turn_;
  if (e_.nodes_.size() > known_in_.size()) {
    known_in_.resize(e_.nodes_.size() * 2, 0);
    known_.resize(known_in_.size());
  }
  const auto visit = [&](uint32_t id) {
    if (known_in_[id] != turn_) open.push_back(id);
    known_in_[id] = turn_;
  };
  visit(of.id);
  while (!open.empty()) {
    const Expressions::Node& node = e_.nodes_[open.back()];
    open.pop_back();
    ++out.n_nodes;
    switch (node.kind) {
      case Kind::kBytes:
        sets.push_back(e_.sets_[node.a]);
        break;
      case Kind::kSequence:
        visit(node.a);
        visit(node.b);
        break;
      case Kind::kChoice:
      case Kind::kBoth:
        for (const uint32_t part : e_.parts(node)) visit(part);
        break;
      case Kind::kRepeat:
        out.counts.push_back(node.most == kUnbounded ? node.least : node.most);
        visit(node.a);
        break;
      case Kind::kComplement:
        visit(node.a);
        break;
      case Kind::kAutomaton:
        for (const AutomatonState::Edge& edge : e_.states_[node.a].next) {
          // Thousands of edges have few sets.
          if (std::ranges::find(sets, edge.bytes) == sets.end()) sets.push_back(edge.bytes);
          visit(edge.to);
        }
        break;
      default:
        break;
    }
  }
  std::ranges::sort(out.counts);
  // Each set parts every class into what is in it and what is not.
  ByteClasses& classes = out.classes;
  classes.any.assign(1, 0);
  for (const ByteSet& set : sets) {
    std::array<uint32_t, 256> inside;
    inside.fill(256);  // by class outside, the class of what is inside
    std::array<bool, 256> has_outside{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (!set.contains(static_cast<uint8_t>(byte))) has_outside[classes.of[byte]] = true;
    }
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint8_t old = classes.of[byte];
      if (!set.contains(static_cast<uint8_t>(byte)) || !has_outside[old]) continue;
      if (inside[old] == 256) {
        inside[old] = static_cast<uint32_t>(classes.any.size());
        classes.any.push_back(static_cast<uint8_t>(byte));
      }
      classes.of[byte] = static_cast<uint8_t>(inside[old]);
    }
    for (uint32_t byte = 256; byte-- > 0;)
      classes.any[classes.of[byte]] = static_cast<uint8_t>(byte);
  }
  return out;
}

}  // namespace puna::grammar
