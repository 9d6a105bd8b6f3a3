#include "grammar/masks.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace puna::grammar {

namespace {

// A state in which so many bytes may come next is one in which texts are written at length.
constexpr uint32_t kManyBytes = 64;
// More such states than this are made as they are met.
constexpr uint32_t kMostWarmed = 16;
// Loops of fewer bytes are rare in tokens.
constexpr uint32_t kLeastLoop = 8;
// States of a lexeme whose loops are looked for: where there are more, it is a list of texts.
constexpr uint32_t kMostLoops = 4096;
// For sorting by numbers that are near each other.
constexpr uint32_t kMostBuckets = 65536;

// Where a walk is, if the count at its beginning is not known: which counts lead here.
struct Walker {
  uint32_t state = 0;
  uint32_t count = 0;     // of the counter: passed since the beginning, or all of them
  bool relative = false;  // the former
  CountBounds counts;

  const CountBounds& bounds() const { return counts; }
  bool step(const Lexeme& lexeme, uint8_t byte) {
    const Lexeme::Edge edge = lexeme.edge(state, byte);
    if (edge.to == Lexeme::kDead) return false;
    const Lexeme::State& from = lexeme.state(state);
    if (edge.needs_more != 0) {
      if (count >= from.most) return false;
      if (relative) counts.most = std::min(counts.most, from.most - 1 - count);
    }
    if (edge.needs_enough != 0 && !enough(from.least)) return false;
    if (counts.least > counts.most) return false;
    if (edge.counter_step() == CounterStep::kNext) ++count;
    if (edge.counter_step() == CounterStep::kFirst) {
      count = 1;
      relative = false;
    }
    state = edge.to;
    return true;
  }
  // Whether the lexeme may end here, for the counts that remain.
  bool accept(const Lexeme& lexeme) {
    const Lexeme::State& at = lexeme.state(state);
    if (at.accept != Lexeme::Accept::kWhenEnough || !at.has_counter)
      return at.accept != Lexeme::Accept::kNever;
    return enough(at.least) && counts.least <= counts.most;
  }
  bool never_ends(const Lexeme& lexeme) const {
    return lexeme.state(state).accept == Lexeme::Accept::kNever;
  }
  // Takes n bytes or characters that count.
  bool loop(const Lexeme& lexeme, uint32_t n) {
    const uint32_t most = lexeme.state(state).most;
    if (most - count < n) return false;
    if (relative && most != kUnbounded) counts.most = std::min(counts.most, most - count - n);
    count += n;
    return counts.least <= counts.most;
  }

 private:
  bool enough(uint32_t least) {
    if (count >= least) return true;
    if (!relative) return false;
    counts.least = std::max(counts.least, least - count);
    return true;
  }
};

// The same for a lexeme without counters.
struct PlainWalker {
  uint32_t state = 0;
  static CountBounds bounds() { return {}; }

  bool step(const Lexeme& lexeme, uint8_t byte) {
    state = lexeme.edge(state, byte).to;
    return state != Lexeme::kDead;
  }
  bool accept(const Lexeme& lexeme) const {
    return lexeme.state(state).accept != Lexeme::Accept::kNever;
  }
  bool never_ends(const Lexeme& lexeme) const { return !accept(lexeme); }
  bool loop(const Lexeme&, uint32_t) const { return true; }
};

// Groups that leave a state as it is, and how they count.
struct Loop {
  uint64_t groups = 0;
  bool counts = false;
};

// How a byte or a character leaves a state as it is, a bit each.
enum Stay : uint8_t { kStaysNot = 0, kStays = 1, kCounts = 2 };

Stay stay_of(Lexeme::Edge edge) {
  if (edge.to == Lexeme::kDead || edge.needs_enough != 0) return kStaysNot;
  if (edge.counter_step() == CounterStep::kNext) return kCounts;
  return edge.counter_step() == CounterStep::kSame && edge.needs_more == 0 ? kStays : kStaysNot;
}

// Whether n more bytes of a character lead to a state, whatever they are, and nothing ends at them.
bool leads_to(const Lexeme& lexeme, uint32_t from, uint8_t low, uint8_t high, uint32_t n,
              uint32_t to) {
  if (n == 0) return from == to;
  if (lexeme.state(from).accept != Lexeme::Accept::kNever) return false;
  const uint32_t next = lexeme.edge(from, low).to;
  for (uint32_t byte = low; byte <= high; ++byte) {
    const Lexeme::Edge edge = lexeme.edge(from, static_cast<uint8_t>(byte));
    if (edge.to != next || stay_of(edge) != kStays) return false;
  }
  return leads_to(lexeme, next, 0x80, 0xBF, n - 1, to);
}

uint8_t stay_of_characters(const Lexeme& lexeme, uint32_t state) {
  uint8_t out = kStays | kCounts;
  for (const Utf8Lead& lead : kUtf8Leads) {
    uint32_t known = Lexeme::kDead;  // to lead back
    for (uint32_t byte = lead.first; byte <= lead.last; ++byte) {
      const Lexeme::Edge edge = lexeme.edge(state, static_cast<uint8_t>(byte));
      out &= stay_of(edge);
      if (out == kStaysNot) return out;
      if (edge.to == known) continue;
      if (!leads_to(lexeme, edge.to, lead.low, lead.high, lead.n_following, state))
        return kStaysNot;
      known = edge.to;
    }
  }
  return out;
}

Loop loop_of(const Lexeme& lexeme, uint32_t state) {
  std::array<uint64_t, 2> broken{};  // by whether the byte counts
  const auto meet = [&](uint64_t group, uint8_t stay) {
    if ((stay & kStays) == 0) broken[0] |= group;
    if ((stay & kCounts) == 0) broken[1] |= group;
  };
  const auto stay_at = [&](uint32_t byte) {
    const Lexeme::Edge edge = lexeme.edge(state, static_cast<uint8_t>(byte));
    return edge.to == state ? stay_of(edge) : kStaysNot;
  };
  for (uint32_t byte = 0; byte < 128; ++byte)
    meet(uint64_t{1} << kAsciiGroups[byte], stay_at(byte));
  meet(kCharacters, stay_of_characters(lexeme, state));
  // How often they count depends on how many they are.
  uint8_t all = kStays;
  for (uint32_t byte = 128; byte < 256; ++byte) all &= stay_at(byte);
  meet(kBroken, all);
  constexpr uint64_t kAll = kAscii | kCharacters | kBroken;
  Loop out;
  out.counts = (~broken[0] & kAll) == 0;
  out.groups = ~broken[out.counts ? 1 : 0] & kAll;
  return out;
}

// Groups that a set of bytes has a part in.
uint64_t groups_of(const ByteSet& set) {
  uint64_t out = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (!set.contains(static_cast<uint8_t>(byte))) continue;
    out |= byte < 128 ? uint64_t{1} << kAsciiGroups[byte] : kCharacters | kBroken;
  }
  return out;
}

template <class Walker>
void walk(const GrammarVocabulary& vocabulary, const Grammar::LexemeUse& use, Walker start,
          auto&& inside, auto&& behind) {
  const TokenTrie& trie = vocabulary.trie();
  const Lexeme& lexeme = use.lexeme;
  std::vector<Walker> path(trie.max_depth() + 1, start);
  // Of states that were met; only those with several bytes are worth it.
  std::vector<std::optional<Loop>> loops(std::min(lexeme.n_states(), kMostLoops));
  const auto loop_at = [&](uint32_t state) {
    if (state >= loops.size() || lexeme.state(state).n_bytes < kLeastLoop) return Loop();
    if (!loops[state]) loops[state] = loop_of(lexeme, state);
    return *loops[state];
  };
  const uint64_t ends = groups_of(use.follow);
  std::vector<uint16_t> begun(trie.max_depth() + 1);  // see TokenTrie::characters
  const uint32_t n = trie.n_nodes();
  for (uint32_t i = 0; i < n;) {
    const TokenTrie::Node& node = trie.node(i);
    Walker at = path[node.depth];
    const Loop loop = loop_at(at.state);
    const uint64_t groups = trie.groups(i);
    // All of a subtree that leaves the state as it is, where no lexeme ends in it.
    if ((groups & ~loop.groups) == 0 && node.begins &&
        ((groups & ends) == 0 || at.never_ends(lexeme))) {
      for (uint32_t token = trie.tokens_begin(i); token < trie.tokens_below_end(i); ++token) {
        Walker end = at;
        if (!loop.counts || end.loop(lexeme, trie.characters(token) - begun[node.depth]))
          inside(trie.id(token), end);
      }
      i = node.end;
      continue;
    }
    if (!at.step(lexeme, node.byte)) {
      i = node.end;
      continue;
    }
    path[node.depth + 1] = at;
    begun[node.depth + 1] = static_cast<uint16_t>(begun[node.depth] + (node.begins ? 1 : 0));
    for (uint32_t token = trie.tokens_begin(i); token < trie.tokens_end(i); ++token)
      inside(trie.id(token), at);
    if (node.end > i + 1 && at.accept(lexeme)) {
      // What may come behind the lexeme is another way on.
      for (uint32_t child = i + 1; child < node.end; child = trie.node(child).end) {
        if (!use.follow.contains(trie.node(child).byte)) continue;
        for (uint32_t token = trie.tokens_begin(child); token < trie.tokens_below_end(child);
             ++token)
          behind(trie.id(token), node.depth + 1u, at.bounds());
      }
    }
    ++i;
  }
}

}  // namespace

// Nearly all tokens have bounds, and these are few numbers near each other.
void LexemeMask::sort_bounds(std::vector<Bound>& bounds) {
  if (bounds.empty()) return;
  const auto [low, high] = std::ranges::minmax(bounds, {}, &Bound::at);
  if (high.at - low.at > kMostBuckets) {
    std::ranges::sort(bounds, {}, &Bound::at);
    return;
  }
  std::vector<uint32_t> ends(high.at - low.at + 2, 0);
  for (const Bound& bound : bounds) ++ends[bound.at - low.at + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<Bound> sorted(bounds.size());
  for (const Bound& bound : bounds) sorted[ends[bound.at - low.at]++] = bound;
  bounds = std::move(sorted);
}

LexemeMask::LexemeMask(const GrammarVocabulary& vocabulary, const Grammar::LexemeUse& use,
                       uint32_t state) {
  bits_.assign(vocabulary.n_words(), 0);
  uint32_t n_inside = 0;
  std::vector<TokenTrie::Token> rests;
  const auto inside = [&](uint32_t id, const auto& at) {
    bits_[id / 32] |= 1u << id % 32;
    ++n_inside;
    const CountBounds counts = at.bounds();
    if (counts.most != kUnbounded) at_most_.push_back({counts.most, id});
    if (counts.least != 0) at_least_.push_back({counts.least, id});
  };
  const auto behind = [&](uint32_t id, uint32_t from, const CountBounds& counts) {
    rests.push_back({vocabulary.text(id).substr(from), id, counts});
  };
  if (use.lexeme.has_counters()) {
    walk(vocabulary, use, Walker{state, 0, use.lexeme.state(state).has_counter, {}}, inside,
         behind);
  } else {
    walk(vocabulary, use, PlainWalker{state}, inside, behind);
  }
  sort_bounds(at_most_);
  sort_bounds(at_least_);
  std::ranges::reverse(at_least_);
  after_ = TokenTrie(std::move(rests));
  // A list is smaller and quicker where the tokens are few.
  if (n_inside * 4 < bits_.size() && at_most_.empty() && at_least_.empty()) {
    for (uint32_t id = 0; id < vocabulary.n_tokens(); ++id) {
      if ((bits_[id / 32] >> id % 32 & 1) != 0) ids_.push_back(id);
    }
    bits_ = {};
  }
}

void LexemeMask::add_inside(uint32_t count, std::span<uint32_t> bits) const {
  if (bits_.empty()) {
    for (const uint32_t id : ids_) bits[id / 32] |= 1u << id % 32;
    return;
  }
  const auto too_many = std::ranges::lower_bound(at_most_, count, {}, &Bound::at);
  const bool all_enough = at_least_.empty() || at_least_.front().at <= count;
  if (too_many == at_most_.begin() && all_enough) {
    for (size_t i = 0; i < bits.size(); ++i) bits[i] |= bits_[i];
    return;
  }
  std::vector<uint32_t> allowed = bits_;
  const auto take_away = [&](uint32_t id) { allowed[id / 32] &= ~(1u << id % 32); };
  for (auto at = at_most_.begin(); at != too_many; ++at) take_away(at->id);
  for (auto at = at_least_.begin(); at != at_least_.end() && at->at > count; ++at)
    take_away(at->id);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] |= allowed[i];
}

size_t LexemeMask::size_bytes() const {
  return sizeof(*this) + (bits_.size() + ids_.size()) * sizeof(uint32_t) +
         (at_most_.size() + at_least_.size()) * sizeof(Bound) + after_.size_bytes();
}

std::shared_ptr<const LexemeMask> Masks::get(const Grammar::LexemeUse& use, uint32_t state) {
  const Key key{use.fingerprint, state};
  {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(key);
    if (known != entries_.end()) {
      known->second.used = ++clock_;
      return known->second.mask;
    }
  }
  // Made outside of the lock; where two threads make the same, the first one stays.
  auto made = std::make_shared<const LexemeMask>(*vocabulary_, use, state);
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = entries_.try_emplace(key, Entry{made, ++clock_});
  if (is_new) {
    bytes_ += made->size_bytes();
    if (bytes_ > most_bytes_) make_room();
  }
  return made;
}

Masks::Ids Masks::find_behind(const BehindKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = behind_.find(key);
  return known == behind_.end() ? nullptr : known->second;
}

Masks::Ids Masks::keep_behind(const BehindKey& key, std::vector<uint32_t> ids) {
  auto made = std::make_shared<const std::vector<uint32_t>>(std::move(ids));
  const std::lock_guard lock(mutex_);
  if (behind_.try_emplace(key, made).second) {
    bytes_ += sizeof(key) + made->size() * sizeof(uint32_t);
    if (bytes_ > most_bytes_) make_room();
  }
  return made;
}

// What depends on a text goes, and the half of the rest that was not used for longest.
void Masks::make_room() {
  for (const auto& [key, ids] : behind_) bytes_ -= sizeof(key) + ids->size() * sizeof(uint32_t);
  behind_.clear();
  if (entries_.empty()) return;
  std::vector<uint64_t> used;
  for (const auto& [key, entry] : entries_) used.push_back(entry.used);
  const auto middle = used.begin() + static_cast<ptrdiff_t>(used.size() / 2);
  std::ranges::nth_element(used, middle);
  const uint64_t oldest = *middle;
  std::erase_if(entries_, [&](const auto& entry) {
    if (entry.second.used > oldest) return false;
    bytes_ -= entry.second.mask->size_bytes();
    return true;
  });
}

void Masks::warm(const Grammar& grammar) {
  uint32_t left = kMostWarmed;
  for (uint32_t id = 0; id < grammar.n_lexemes(); ++id) {
    const Grammar::LexemeUse& use = grammar.lexeme(id);
    for (uint32_t state = Lexeme::kStart; state < use.lexeme.n_states(); ++state) {
      if (use.lexeme.state(state).n_bytes < kManyBytes) continue;
      if (left-- == 0) return;
      get(use, state);
    }
  }
}

size_t Masks::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace puna::grammar
