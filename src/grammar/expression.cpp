#include "grammar/expression.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace puna::grammar {

namespace {

constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 29;
}

// The product of two numbers of repetitions.
uint32_t times(uint32_t a, uint32_t b) {
  if (a == 0 || b == 0) return 0;
  const uint64_t product = uint64_t{a} * b;
  return a == kUnbounded || b == kUnbounded || product >= kUnbounded
             ? kUnbounded
             : static_cast<uint32_t>(product);
}

}  // namespace

uint32_t ByteSet::size() const {
  uint32_t n = 0;
  for (const uint64_t word : words_) n += static_cast<uint32_t>(std::popcount(word));
  return n;
}

ByteSet& ByteSet::operator|=(const ByteSet& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

ByteSet& ByteSet::operator&=(const ByteSet& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  return *this;
}

Expressions::Expressions() {
  table_.assign(1024, kSeveral);
  PUNA_CHECK(add(Node()) == nothing());
  Node node;
  node.kind = Kind::kEmpty;
  node.nullable = true;
  PUNA_CHECK(add(node) == empty());
}

bool Expressions::same(uint32_t id, const Node& node, std::span<const uint32_t> inside) const {
  const Node& known = nodes_[id];
  if (known.kind != node.kind) return false;
  switch (node.kind) {
    case Kind::kChoice:
    case Kind::kBoth:
      return std::ranges::equal(parts(known), inside);
    case Kind::kBytes:
      return sets_[known.a] == sets_[node.a];
    default:
      return known.a == node.a && known.b == node.b && known.least == node.least &&
             known.most == node.most && known.counted == node.counted && known.step == node.step;
  }
}

Expression Expressions::add(Node node, std::span<const uint32_t> inside) {
  uint64_t hash = static_cast<uint64_t>(node.kind);
  if (node.kind == Kind::kBytes) {
    for (const uint64_t word : sets_[node.a].words()) hash = mix(hash, word);
  } else if (node.kind == Kind::kChoice || node.kind == Kind::kBoth) {
    for (const uint32_t part : inside) hash = mix(hash, part);
  } else {
    hash = mix(mix(hash, uint64_t{node.a} << 32 | node.b), uint64_t{node.least} << 32 | node.most);
    hash = mix(hash, uint64_t{node.counted} << 2 | static_cast<uint64_t>(node.step));
  }
  if (nodes_.size() * 2 >= table_.size()) grow_table();
  auto at = static_cast<size_t>(hash & (table_.size() - 1));
  while (table_[at] != kSeveral) {
    if (same(table_[at], node, inside)) return {table_[at]};
    at = (at + 1) & (table_.size() - 1);
  }
  if (node.kind == Kind::kChoice || node.kind == Kind::kBoth) {
    node.a = static_cast<uint32_t>(parts_.size());
    parts_.insert(parts_.end(), inside.begin(), inside.end());
    node.b = static_cast<uint32_t>(parts_.size());
  }
  const auto id = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
  hashes_.push_back(hash);
  table_[at] = id;
  return {id};
}

void Expressions::grow_table() {
  table_.assign(table_.size() * 2, kSeveral);
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    auto at = static_cast<size_t>(hashes_[id] & (table_.size() - 1));
    while (table_[at] != kSeveral) at = (at + 1) & (table_.size() - 1);
    table_[at] = id;
  }
}

Expression Expressions::bytes(const ByteSet& set) {
  if (set.empty()) return nothing();
  Node node;
  node.kind = Kind::kBytes;
  node.a = static_cast<uint32_t>(sets_.size());
  sets_.push_back(set);
  const size_t before = nodes_.size();
  const Expression out = add(node);
  if (nodes_.size() == before) sets_.pop_back();
  return out;
}

Expression Expressions::literal(std::string_view text) {
  Expression out = empty();
  for (size_t i = text.size(); i-- > 0;) {
    ByteSet one;
    one.add(static_cast<uint8_t>(text[i]));
    out = sequence({bytes(one), out});
  }
  return out;
}

Expression Expressions::literals(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  const auto repeated = std::ranges::unique(texts);
  texts.erase(repeated.begin(), repeated.end());
  return trie(texts, 0);
}

// What follows the first `at` bytes, which all texts share; they are sorted.
Expression Expressions::trie(std::span<const std::string> texts, size_t at) {
  if (texts.empty()) return nothing();
  const std::string& front = texts.front();
  const std::string& back = texts.back();
  size_t shared = at;
  while (shared < front.size() && shared < back.size() && front[shared] == back[shared]) ++shared;
  std::vector<uint32_t> branches;
  for (size_t i = 0; i < texts.size();) {
    if (texts[i].size() == shared) {
      branches.push_back(empty().id);
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < texts.size() && texts[end][shared] == texts[i][shared]) ++end;
    ByteSet one;
    one.add(static_cast<uint8_t>(texts[i][shared]));
    const Expression rest = trie(texts.subspan(i, end - i), shared + 1);
    branches.push_back(sequence({bytes(one), rest}).id);
    i = end;
  }
  return sequence(
      {literal(std::string_view(front).substr(at, shared - at)), many(Kind::kChoice, branches)});
}

// Characters whose encoding has `tail` bytes after a first one, which is `mark` and what is left of
// the code point. The ranges are those of such code points, without the bits before.
Expression Expressions::encoded(std::span<const tokenizer::CharSet::Range> ranges, uint32_t tail,
                                uint8_t mark) {
  const uint32_t shift = 6 * tail;
  const char32_t last = (char32_t{1} << shift) - 1;
  std::vector<std::pair<uint32_t, ByteSet>> groups;  // first bytes by what follows them
  std::vector<tokenizer::CharSet::Range> inner;
  size_t i = 0;
  for (uint32_t first = ranges.front().low >> shift; first <= ranges.back().high >> shift;
       ++first) {
    const char32_t low = first << shift;
    const char32_t high = low + last;
    while (ranges[i].high < low) ++i;
    inner.clear();
    for (size_t k = i; k < ranges.size() && ranges[k].low <= high; ++k) {
      inner.push_back({std::max(ranges[k].low, low) - low, std::min(ranges[k].high, high) - low});
    }
    if (inner.empty()) continue;
    Expression rest = empty();
    if (inner.front().low == 0 && inner.front().high == last) {
      for (uint32_t n = 0; n < tail; ++n)
        rest = sequence({bytes(ByteSet::range(0x80, 0xBF)), rest});
    } else {
      rest = encoded(inner, tail - 1, 0x80);
    }
    auto group = std::ranges::find(groups, rest.id, &std::pair<uint32_t, ByteSet>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {rest.id, ByteSet()});
    group->second.add(static_cast<uint8_t>(mark | first));
  }
  std::vector<uint32_t> branches;
  for (const auto& [rest, set] : groups)
    branches.push_back(sequence({bytes(set), Expression{rest}}).id);
  return many(Kind::kChoice, branches);
}

Expression Expressions::characters(const tokenizer::CharSet& set) {
  struct Length {
    char32_t low, high;
    uint32_t tail;
    uint8_t mark;
  };
  static constexpr Length kLengths[] = {{0, 0x7F, 0, 0},
                                        {0x80, 0x7FF, 1, 0xC0},
                                        {0x800, kFirstSurrogate - 1, 2, 0xE0},
                                        {kLastSurrogate + 1, 0xFFFF, 2, 0xE0},
                                        {0x10000, tokenizer::CharSet::kLast, 3, 0xF0}};
  std::vector<uint32_t> branches;
  std::vector<tokenizer::CharSet::Range> ranges;
  for (const Length& length : kLengths) {
    ranges.clear();
    for (const auto& range : set.ranges()) {
      if (range.high < length.low || range.low > length.high) continue;
      ranges.push_back({std::max(range.low, length.low), std::min(range.high, length.high)});
    }
    if (!ranges.empty()) branches.push_back(encoded(ranges, length.tail, length.mark).id);
  }
  return many(Kind::kChoice, branches);
}

Expression Expressions::any_character() {
  return characters(tokenizer::CharSet(0, tokenizer::CharSet::kLast));
}

Expression Expressions::sequence(std::span<const Expression> parts) {
  Expression out = empty();
  for (size_t i = parts.size(); i-- > 0;) out = pair(parts[i], out);
  return out;
}

Expression Expressions::pair(Expression first, Expression rest) {
  if (is_nothing(first) || is_nothing(rest)) return nothing();
  if (first == empty()) return rest;
  if (rest == empty()) return first;
  // Nested to the right: what is first is taken apart.
  std::vector<uint32_t> firsts;
  while (nodes_[first.id].kind == Kind::kSequence) {
    firsts.push_back(nodes_[first.id].a);
    first = {nodes_[first.id].b};
  }
  firsts.push_back(first.id);
  for (size_t i = firsts.size(); i-- > 0;) {
    const Node& a = nodes_[firsts[i]];
    const Node& b = nodes_[rest.id];
    Node node;
    node.kind = Kind::kSequence;
    node.nullable = a.nullable && b.nullable;
    node.a = firsts[i];
    node.b = rest.id;
    take_over(node, a);
    take_over(node, b);
    rest = add(node);
  }
  return rest;
}

// What a node has to say of what is in it.
void Expressions::take_over(Node& node, const Node& part) {
  node.has_logic |= part.has_logic;
  node.steps |= part.steps;
  if (part.counted == kNone || part.counted == node.counted) return;
  node.counted = node.counted == kNone ? part.counted : kSeveral;
}

Expression Expressions::choice(std::span<const Expression> parts) {
  std::vector<uint32_t> ids;
  for (const Expression part : parts) ids.push_back(part.id);
  return many(Kind::kChoice, ids);
}

Expression Expressions::both(Expression a, Expression b) {
  std::vector<uint32_t> ids{a.id, b.id};
  return many(Kind::kBoth, ids);
}

// A choice or both of what is in `ids`, which is used up.
Expression Expressions::many(Kind kind, std::vector<uint32_t>& ids) {
  const bool is_choice = kind == Kind::kChoice;
  const Expression everything = complement(nothing());
  const Expression neutral = is_choice ? nothing() : everything;
  const Expression absorbing = is_choice ? everything : nothing();
  std::vector<uint32_t> flat;
  ByteSet set;
  bool has_set = false;
  for (const uint32_t id : ids) {
    const Node& node = nodes_[id];
    if (id == absorbing.id) return absorbing;
    if (id == neutral.id) continue;
    if (node.kind == kind) {
      const auto inside = this->parts(node);
      flat.insert(flat.end(), inside.begin(), inside.end());
    } else {
      flat.push_back(id);
    }
  }
  // Sets of bytes become one.
  std::erase_if(flat, [&](uint32_t id) {
    if (nodes_[id].kind != Kind::kBytes) return false;
    const ByteSet& bytes = sets_[nodes_[id].a];
    if (!has_set) {
      set = bytes;
    } else if (is_choice) {
      set |= bytes;
    } else {
      set &= bytes;
    }
    has_set = true;
    return true;
  });
  if (has_set) {
    const Expression one = bytes(set);
    if (one == absorbing) return absorbing;
    flat.push_back(one.id);
  }
  std::ranges::sort(flat);
  const auto repeated = std::ranges::unique(flat);
  flat.erase(repeated.begin(), repeated.end());
  Node node;
  node.kind = kind;
  node.nullable = !is_choice;
  node.has_logic = !is_choice;
  for (const uint32_t id : flat) {
    node.nullable =
        is_choice ? node.nullable || nodes_[id].nullable : node.nullable && nodes_[id].nullable;
    take_over(node, nodes_[id]);
  }
  // The empty text is no part of its own where another one matches it too.
  if (is_choice && flat.size() > 1 && flat.front() == empty().id &&
      std::any_of(flat.begin() + 1, flat.end(), [&](uint32_t id) { return nodes_[id].nullable; })) {
    flat.erase(flat.begin());
  }
  if (flat.empty()) return neutral;
  if (flat.size() == 1) return {flat.front()};
  return add(node, flat);
}

Expression Expressions::complement(Expression part) {
  const Node inner = nodes_[part.id];
  if (inner.kind == Kind::kComplement) return {inner.a};
  Node node;
  node.kind = Kind::kComplement;
  node.nullable = !inner.nullable;
  node.a = part.id;
  take_over(node, inner);
  node.has_logic = true;
  return add(node);
}

Expression Expressions::repeat(Expression part, uint32_t least, uint32_t most) {
  PUNA_CHECK(least <= most && least != kUnbounded);
  if (most == 0 || part == empty()) return empty();
  if (is_nothing(part)) return least == 0 ? empty() : nothing();
  const Node inner = nodes_[part.id];
  if (inner.nullable) least = 0;
  if (least == 1 && most == 1) return part;
  if (least == 0 && most == 1) return choice({empty(), part});
  // A choice with the empty text repeats the rest of it.
  if (inner.kind == Kind::kChoice && parts(inner).front() == empty().id) {
    std::vector<uint32_t> rest(parts(inner).begin() + 1, parts(inner).end());
    return repeat(many(Kind::kChoice, rest), 0, most);
  }
  // Repeated repetitions are one where no number is left out between them.
  if (inner.kind == Kind::kRepeat) {
    const bool no_gap = least == most || inner.most == kUnbounded || inner.least <= 1 ||
                        (least > 0 && uint64_t{inner.least} * (least + uint64_t{1}) <=
                                          uint64_t{inner.most} * least + 1);
    const bool from_zero = least > 0 || inner.least <= 1;
    const uint32_t lowest = times(inner.least, least);
    if (no_gap && from_zero && lowest != kUnbounded)
      return repeat(Expression{inner.a}, lowest, times(inner.most, most));
  }
  Node node;
  node.kind = Kind::kRepeat;
  node.nullable = least == 0;
  node.a = part.id;
  node.least = least;
  node.most = most;
  take_over(node, inner);
  return add(node);
}

Expressions::Split Expressions::split(Expression e) {
  const Node node = nodes_[e.id];
  Split out;
  switch (node.kind) {
    case Kind::kSequence: {
      std::vector<Expression> all;
      Expression rest = e;
      for (; nodes_[rest.id].kind == Kind::kSequence; rest = {nodes_[rest.id].b})
        all.push_back({nodes_[rest.id].a});
      all.push_back(rest);
      const std::span<const Expression> both(all);
      out.kind = Split::Kind::kSequence;
      out.parts = {sequence(both.first(both.size() / 2)), sequence(both.subspan(both.size() / 2))};
      break;
    }
    case Kind::kChoice:
      out.kind = Split::Kind::kChoice;
      for (const uint32_t part : parts(node)) out.parts.push_back({part});
      break;
    case Kind::kRepeat:
      out.kind = Split::Kind::kRepeat;
      out.parts.push_back({node.a});
      out.least = node.least;
      out.most = node.most;
      break;
    default:
      break;
  }
  return out;
}

Expression Expressions::counted(Expression repeated, CounterStep step) {
  const Node inner = nodes_[repeated.id];
  PUNA_CHECK(inner.kind == Kind::kRepeat);
  Node node;
  node.kind = Kind::kCounted;
  node.a = inner.a;
  node.steps = static_cast<uint8_t>(1u << static_cast<uint32_t>(step));
  node.least = inner.least;
  node.most = inner.most;
  node.counted = repeated.id;
  node.step = step;
  return add(node);
}

}  // namespace puna::grammar
