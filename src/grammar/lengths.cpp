#include "grammar/lengths.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "grammar/alive.h"
#include "grammar/lexeme.h"

namespace puna::grammar {

namespace {

using State = LengthAutomaton::State;
using Edge = LengthAutomaton::Edge;

struct Back {
  uint32_t from = 0;
  bool begins = false;
};

// The fewest characters from each state to an end.
std::vector<uint32_t> fewest_to_end(const std::vector<std::vector<Back>>& back,
                                    const std::vector<uint32_t>& ends) {
  std::vector<uint32_t> out(back.size(), kUnbounded);
  std::deque<uint32_t> open;
  for (const uint32_t id : ends) {
    out[id] = 0;
    open.push_back(id);
  }
  while (!open.empty()) {
    const uint32_t id = open.front();
    open.pop_front();
    for (const Back& next : back[id]) {
      const uint32_t by_here = out[id] + (next.begins ? 1 : 0);
      if (by_here >= out[next.from]) continue;
      out[next.from] = by_here;
      if (next.begins) {
        open.push_back(next.from);
      } else {
        open.push_front(next.from);
      }
    }
  }
  return out;
}

// The most characters from each state to an end; `cap` for as many and more.
base::Result<std::vector<uint32_t>> most_to_end(const std::vector<std::vector<Back>>& back,
                                                uint32_t cap, const Deadline& deadline) {
  // By turns: the states from which so many more characters can come, and then an end.
  std::vector<uint32_t> out(back.size(), 0), last;
  for (uint32_t id = 0; id < back.size(); ++id) last.push_back(id);
  for (uint32_t n = 1; n <= cap; ++n) {
    PUNA_TRY(deadline.check());
    std::vector<uint32_t> now;
    const auto add = [&](uint32_t id) {
      if (out[id] == n) return;
      out[id] = n;
      now.push_back(id);
    };
    for (const uint32_t id : last) {
      for (const Back& edge : back[id]) {
        if (edge.begins) add(edge.from);
      }
    }
    for (size_t i = 0; i < now.size(); ++i) {
      for (const Back& edge : back[now[i]]) {
        if (!edge.begins) add(edge.from);
      }
    }
    // Those that remain lead on for ever.
    if (now.size() == last.size()) {
      for (const uint32_t id : now) out[id] = cap;
      break;
    }
    last = std::move(now);
  }
  return out;
}

// A count from which on, or below which, the edges of a state may be taken that ask for one: the
// strictest of what they ask for.
class Strictest {
 public:
  void add(uint32_t needed) {
    most_ = std::max(most_, needed);
    least_ = std::min(least_, needed);
  }
  uint32_t value() const { return most_; }
  bool exact() const { return most_ == 0 || most_ == least_; }

 private:
  uint32_t most_ = 0, least_ = kUnbounded;
};

}  // namespace

// The bound has to be the only one of its kind in a sequence, with something else beside it.
std::optional<Expressions::LengthBound> Expressions::length_bound(Expression e) {
  std::vector<Expression> all;
  for (; nodes_[e.id].kind == Kind::kSequence; e = {nodes_[e.id].b})
    all.push_back({nodes_[e.id].a});
  all.push_back(e);
  const auto is_both = [&](Expression part) { return nodes_[part.id].kind == Kind::kBoth; };
  const auto at = std::ranges::find_if(all, is_both);
  if (at == all.end() || std::any_of(at + 1, all.end(), is_both)) return {};
  // Of several repetitions that with the largest count, which makes the most states.
  const Node node = nodes_[at->id];
  const std::vector<uint32_t> sides(parts(node).begin(), parts(node).end());
  const auto count_of = [&](uint32_t id) -> uint32_t {
    const Node& side = nodes_[id];
    if (side.kind != Kind::kRepeat) return 0;
    return side.most == kUnbounded ? side.least : side.most;
  };
  const uint32_t largest = *std::ranges::max_element(sides, {}, count_of);
  if (count_of(largest) == 0) return {};
  LengthBound out;
  out.one = {nodes_[largest].a};
  out.most = kUnbounded;
  std::vector<uint32_t> others;
  for (const uint32_t id : sides) {
    if (count_of(id) == 0 || nodes_[id].a != out.one.id) {
      others.push_back(id);
      continue;
    }
    out.least = std::max(out.least, nodes_[id].least);
    out.most = std::min(out.most, nodes_[id].most);
  }
  if (out.least > out.most || others.empty()) return {};
  const std::vector<Expression> before(all.begin(), at), behind(at + 1, all.end());
  out.before = sequence(before);
  out.behind = sequence(behind);
  out.texts = sequence({out.before, many(Kind::kBoth, others), out.behind});
  out.counted = sequence({out.before, repeat(out.one, 0, kUnbounded), out.behind});
  return out;
}

// Both are followed at once, without regard to numbers of characters. Behind that it is known how
// many characters at least a state is from an end, and so up to which count an edge may be taken.
base::Result<std::optional<LengthAutomaton>> count_lengths(const LengthParts& parts,
                                                           const Expressions::LengthBound& bound,
                                                           const Limits& limits,
                                                           const Deadline& deadline) {
  LengthAutomaton out;
  std::vector<std::pair<uint32_t, uint32_t>> places;
  std::unordered_map<uint64_t, uint32_t> ids;
  const auto state_of = [&](uint32_t text, uint32_t count, bool inside) {
    const auto [known, is_new] =
        ids.try_emplace(uint64_t{text} << 32 | count, static_cast<uint32_t>(places.size()));
    if (is_new) {
      places.emplace_back(text, count);
      out.states.emplace_back().inside = inside;
    }
    return known->second;
  };
  state_of(Lexeme::kStart, Lexeme::kStart, parts.between == Lexeme::kStart);
  for (uint32_t id = 0; id < places.size(); ++id) {
    if (places.size() > limits.lexeme_states) return std::nullopt;
    if (id % 64 == 0) PUNA_TRY(deadline.check());
    const auto [text, count] = places[id];
    const bool may_begin = count == parts.between, was_inside = out.states[id].inside;
    out.states[id].accepts = parts.texts.accepts({text, 0}) && parts.counted.accepts({count, 0});
    for (uint32_t cls = 0; cls < parts.classes.any.size(); ++cls) {
      const uint8_t byte = parts.classes.any[cls];
      const uint32_t to_text = parts.texts.step({text, 0}, byte).state;
      const uint32_t to_count = parts.counted.step({count, 0}, byte).state;
      if (to_text == Lexeme::kDead || to_count == Lexeme::kDead) continue;
      const bool begins = may_begin && parts.first.contains(byte);
      const bool inside = to_count == parts.between || begins || (was_inside && !may_begin);
      const uint32_t to = state_of(to_text, to_count, inside);
      if (out.states[to].inside != inside) return std::nullopt;
      out.states[id].edges.push_back(
          {.to = to, .cls = static_cast<uint8_t>(cls), .begins = begins});
    }
  }
  keep_alive(out.states, &State::edges);
  if (out.states.empty()) return out;

  const size_t n = out.states.size();
  std::vector<std::vector<Back>> back(n);
  std::vector<uint32_t> ends;
  for (uint32_t id = 0; id < n; ++id) {
    for (const Edge& edge : out.states[id].edges) back[edge.to].push_back({id, edge.begins});
    if (out.states[id].accepts) ends.push_back(id);
  }
  const std::vector<uint32_t> to_end = fewest_to_end(back, ends);
  PUNA_TRY(const auto at_most, most_to_end(back, bound.least, deadline));
  if (to_end[0] > bound.most || at_most[0] < bound.least) {
    out.states.clear();
    return out;
  }
  // The shortest way to an end, and the longest, are always open: so every text comes to an end
  // within the bounds, whatever other edges ask for.
  for (uint32_t id = 0; id < n; ++id) {
    State& state = out.states[id];
    if (!state.inside) continue;
    Strictest more, enough;
    for (Edge& edge : state.edges) {
      const uint32_t own = edge.begins ? 1 : 0;
      const uint32_t fewest_more = to_end[edge.to] + own, most_more = at_most[edge.to] + own;
      edge.needs_more = bound.most != kUnbounded && fewest_more > to_end[id];
      if (edge.needs_more) more.add(fewest_more);
      edge.needs_enough = most_more < bound.least && most_more < at_most[id];
      if (edge.needs_enough) enough.add(bound.least - most_more);
    }
    state.ends_when_enough = state.accepts && at_most[id] > 0;
    if (state.ends_when_enough) enough.add(bound.least);
    state.least = enough.value();
    state.most = bound.most;
    // What is left out should not be short texts, which are the likely ones.
    if (!enough.exact()) return std::nullopt;
    out.exact &= more.exact();
    if (more.value() == 0) continue;
    if (more.value() > bound.most) return std::nullopt;
    state.most = bound.most + 1 - more.value();
    if (state.most < bound.least) return std::nullopt;
  }
  // Where texts are short, those that are left out are many of them.
  if (!out.exact && bound.most != kUnbounded && bound.most < 2 * std::ranges::max(to_end))
    return std::nullopt;
  return out;
}

}  // namespace puna::grammar
