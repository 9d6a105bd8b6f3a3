#include "grammar/matcher.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace puna::grammar {

namespace {

// Forced text is looked for this far ahead.
constexpr size_t kMostForced = 1024;
// Trees of as many bytes take longer to go through than to look up.
constexpr uint32_t kLeastKept = 64;

auto order(const LexemeRun& run) {
  return std::tuple(run.lexeme, run.place.state, run.place.count, run.column);
}

bool same_place(const LexemeRun& a, const LexemeRun& b) {
  return a.lexeme == b.lexeme && a.place == b.place;
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Grammar> grammar, std::shared_ptr<Masks> masks)
    : grammar_(std::move(grammar)), masks_(std::move(masks)), reading_(grammar_) {}

std::span<const uint32_t> Matcher::allowed() {
  if (bits_known_) return bits_;
  bits_known_ = true;
  reading_.start_steps();
  const bool open = end_ == End::kOpen && !reading_.over_limit();
  runs_.clear();
  if (open) runs_.assign(reading_.runs().begin(), reading_.runs().end());
  std::ranges::sort(runs_, {}, order);
  const bool complete = open && reading_.complete();
  // Inside a string of characters nothing changes from token to token. Columns that runs began at
  // stay as they were, for undo() forgets the runs.
  if (!bits_.empty() && complete == bits_complete_ &&
      std::ranges::equal(runs_, bits_of_, {}, order, order))
    return bits_;
  bits_.assign(masks_->vocabulary().n_words(), 0);
  bits_of_ = runs_;
  bits_complete_ = complete;
  add_runs(bits_);
  if (reading_.over_limit()) {
    // What is known of the mask is not all of it.
    std::ranges::fill(bits_, 0);
    bits_of_.clear();
    bits_complete_ = false;
    return bits_;
  }
  if (complete) {
    for (const int32_t id : masks_->vocabulary().end_tokens())
      bits_[static_cast<size_t>(id) / 32] |= 1u << id % 32;
  }
  return bits_;
}

// Runs in the same place of a lexeme allow the same inside it, and end at the same bytes.
void Matcher::add_runs(std::span<uint32_t> bits) {
  for (size_t i = 0; i < runs_.size();) {
    size_t end = i + 1;
    while (end < runs_.size() && same_place(runs_[end], runs_[i])) ++end;
    const LexemePlace place = runs_[i].place;
    const Grammar::LexemeUse& use = grammar_->lexeme(runs_[i].lexeme);
    const auto mask = masks_->get(use, place.state);
    mask->add_inside(place.count, bits);
    if (!mask->after().empty()) {
      const uint32_t n_frames = reading_.n_frames();
      reading_.push_ended(std::span(runs_).subspan(i, end - i));
      add_behind(use, place, mask->after(), bits);
      reading_.pop_to(n_frames);
    }
    i = end;
  }
}

// The tokens of a tree that the reading lets pass. Those of large trees are kept for when the same
// may follow again.
void Matcher::add_behind(const Grammar::LexemeUse& use, LexemePlace place, const TokenTrie& trie,
                         std::span<uint32_t> bits) {
  const auto add = [&](const std::vector<uint32_t>& ids) {
    for (const uint32_t id : ids) bits[id / 32] |= 1u << id % 32;
  };
  if (trie.n_nodes() < kLeastKept) return add(ids_behind(trie, place.count));
  // Counts that are far from all bounds are as one.
  const uint32_t count = trie.common_counts().contains(place.count) ? kUnbounded : place.count;
  const Masks::BehindKey key{use.fingerprint, place.state, count, reading_.column_hash()};
  auto known = masks_->find_behind(key);
  if (!known) {
    std::vector<uint32_t> ids = ids_behind(trie, place.count);
    if (reading_.over_limit()) return;
    known = masks_->keep_behind(key, std::move(ids));
  }
  add(*known);
}

std::vector<uint32_t> Matcher::ids_behind(const TokenTrie& trie, uint32_t count) {
  std::vector<uint32_t> out;
  const uint32_t n_frames = reading_.n_frames();
  for (uint32_t i = 0; i < trie.n_nodes();) {
    const TokenTrie::Node& node = trie.node(i);
    reading_.pop_to(n_frames + node.depth);
    if (!reading_.push(node.byte)) {
      if (reading_.over_limit()) break;
      i = node.end;
      continue;
    }
    for (uint32_t token = trie.tokens_begin(i); token < trie.tokens_end(i); ++token) {
      if (!trie.has_counts() || trie.counts(token).contains(count)) out.push_back(trie.id(token));
    }
    ++i;
  }
  reading_.pop_to(n_frames);
  return out;
}

void Matcher::take(int32_t id) {
  bits_known_ = false;
  const bool over_limit = reading_.over_limit().has_value();
  taken_.push_back({reading_.n_frames(), end_, over_limit});
  if (over_limit) return;
  if (end_ != End::kOpen) {
    end_ = End::kLost;
    return;
  }
  const GrammarVocabulary& vocabulary = masks_->vocabulary();
  if (vocabulary.is_end(id)) {
    end_ = reading_.complete() ? End::kEnded : End::kLost;
    return;
  }
  const bool known = id >= 0 && static_cast<uint32_t>(id) < vocabulary.n_tokens();
  const std::string_view text =
      known ? vocabulary.text(static_cast<uint32_t>(id)) : std::string_view();
  const uint32_t n_frames = reading_.n_frames();
  reading_.start_steps();
  bool fits = !text.empty();
  for (size_t i = 0; fits && i < text.size(); ++i)
    fits = reading_.push(static_cast<uint8_t>(text[i]));
  if (!fits) {
    reading_.pop_to(n_frames);
    if (!reading_.over_limit()) end_ = End::kLost;
    return;
  }
  reading_.join(n_frames);
  reading_.settle();
}

void Matcher::undo(uint32_t n) {
  PUNA_CHECK(n <= taken_.size());
  if (n == 0) return;
  const Taken to = taken_[taken_.size() - n];
  taken_.resize(taken_.size() - n);
  reading_.pop_to(to.n_frames);
  end_ = to.end;
  if (!to.over_limit) reading_.forget_limit();
  bits_known_ = false;
  bits_.clear();
}

std::unique_ptr<Matcher> Matcher::fork() const { return std::make_unique<Matcher>(*this); }

bool Matcher::may_end() const {
  return end_ == End::kEnded ||
         (end_ == End::kOpen && reading_.complete() && !reading_.over_limit());
}

bool Matcher::done() const {
  return end_ != End::kOpen || (reading_.runs().empty() && !reading_.over_limit());
}

// The byte that has to come next, if there is one.
std::optional<uint8_t> Matcher::only_byte() const {
  if (reading_.complete()) return {};
  std::optional<uint8_t> out;
  for (const LexemeRun& run : reading_.runs()) {
    const auto byte = grammar_->lexeme(run.lexeme).lexeme.only_byte(run.place);
    if (!byte || (out && *out != *byte)) return {};
    out = byte;
  }
  return out;
}

std::vector<int32_t> Matcher::forced() {
  if (end_ != End::kOpen || reading_.over_limit()) return {};
  const uint32_t n_frames = reading_.n_frames();
  reading_.start_steps();
  std::string text;
  while (text.size() < kMostForced) {
    const auto byte = only_byte();
    if (!byte || !reading_.push(*byte)) break;
    reading_.settle();
    text.push_back(static_cast<char>(*byte));
  }
  const bool over = reading_.runs().empty();
  reading_.pop_to(n_frames);
  if (reading_.over_limit()) {
    // That is too far ahead; a mask asks for less.
    reading_.forget_limit();
    return {};
  }
  if (text.empty()) return {};
  const GrammarVocabulary& vocabulary = masks_->vocabulary();
  std::vector<int32_t> ids = vocabulary.encode(text);
  if (over) return ids;
  // A token that could be longer with what is chosen behind the text is the model's to choose.
  size_t at = 0, n = 0;
  while (n < ids.size() && !vocabulary.longer_token(std::string_view(text).substr(at)))
    at += vocabulary.text(static_cast<uint32_t>(ids[n++])).size();
  ids.resize(n);
  return ids;
}

size_t Matcher::size_bytes() const {
  return reading_.size_bytes() + bits_.capacity() * sizeof(uint32_t) +
         taken_.capacity() * sizeof(Taken);
}

}  // namespace puna::grammar
