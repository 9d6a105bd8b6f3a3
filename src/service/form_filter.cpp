#include "service/form_filter.h"

#include <algorithm>
#include <utility>

namespace puna::service {
namespace {

constexpr uint32_t kBits = 32;  // of a word

void set(std::vector<uint32_t>& bits, int32_t id) {
  bits[static_cast<size_t>(id) / kBits] |= 1u << (static_cast<uint32_t>(id) % kBits);
}
bool has(std::span<const uint32_t> bits, int32_t id) {
  const auto at = static_cast<size_t>(id);
  return at / kBits < bits.size() && (bits[at / kBits] >> (at % kBits) & 1) != 0;
}

}  // namespace

AnswerFrame frame_of(const chat::ReplyStyle& style, const tokenizer::Tokenizer& tokenizer) {
  const auto ids = [&](const std::string& text) {
    return text.empty() ? std::vector<int32_t>() : tokenizer.encode(text, {.add_special = false});
  };
  return {.think_open = ids(style.thinking_begins()),
          .think_close = style.thinking_ends(),
          .begins = ids(std::string(style.answer_begins)),
          .begins_behind = ids(std::string(style.answer_begins_behind))};
}

FormFilter::FormFilter(const tokenizer::Tokenizer& tokenizer, uint32_t vocab, AnswerFrame frame,
                       bool thinking_open, std::unique_ptr<grammar::Matcher> matcher)
    : matcher_(std::move(matcher)) {
  auto rules = std::make_shared<Rules>();
  rules->tokenizer = &tokenizer;
  rules->vocab = vocab;
  rules->frame = std::move(frame);
  rules->no_end.assign(engine::filter_words(vocab), ~0u);
  if (vocab % kBits != 0) rules->no_end.back() = (1u << vocab % kBits) - 1;
  for (const int32_t id : tokenizer.vocabulary().end_tokens)
    rules->no_end[static_cast<size_t>(id) / kBits] &= ~(1u << (static_cast<uint32_t>(id) % kBits));
  rules_ = std::move(rules);
  State first;
  if (thinking_open) {
    first.phase = Phase::kThinking;
  } else if (!rules_->frame.think_open.empty()) {
    first.phase = Phase::kBefore;
  } else {
    first = begin_answer(first, /*behind=*/false);
  }
  states_.push_back(first);
}

FormFilter::FormFilter(const FormFilter& other)
    : rules_(other.rules_),
      matcher_(other.matcher_->fork()),
      thinking_(other.thinking_),
      states_(other.states_) {}

FormFilter::State FormFilter::begin_answer(State state, bool behind) const {
  const std::vector<int32_t>& marks = behind ? rules_->frame.begins_behind : rules_->frame.begins;
  state.phase = marks.empty() ? Phase::kBound : behind ? Phase::kBehind : Phase::kBefore;
  state.begun = {};
  state.n_marked = 0;
  return state;
}

std::array<FormFilter::Marks, 2> FormFilter::marks() const {
  const AnswerFrame& frame = rules_->frame;
  if (now().phase == Phase::kBehind) return {Marks{&frame.begins_behind, Phase::kBound}, Marks{}};
  return {Marks{&frame.begins, Phase::kBound}, Marks{&frame.think_open, Phase::kThinking}};
}

// Of those of marks() that go on as it was written, the next token; -1 of others.
std::array<int32_t, 2> FormFilter::next_of_marks() const {
  std::array<int32_t, 2> out = {-1, -1};
  const std::array<Marks, 2> all = marks();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].ids && !now().begun[i] && now().n_marked > 0) continue;
    if (all[i].ids && now().n_marked < all[i].ids->size()) out[i] = (*all[i].ids)[now().n_marked];
  }
  return out;
}

bool FormFilter::may_be_bound() const {
  return now().phase == Phase::kBound ||
         (now().phase == Phase::kBefore && now().n_marked == 0 && rules_->frame.begins.empty());
}

std::optional<std::span<const uint32_t>> FormFilter::allowed() {
  if (now().phase == Phase::kThinking) return rules_->no_end;
  bits_.assign(engine::filter_words(rules_->vocab), 0);
  if (may_be_bound()) {
    const std::span<const uint32_t> bits = matcher_->allowed();
    if (now().phase == Phase::kBound && bits.size() == bits_.size()) return bits;
    std::ranges::copy(bits.first(std::min(bits.size(), bits_.size())), bits_.begin());
  }
  if (now().phase != Phase::kBound) {
    for (const int32_t id : next_of_marks()) {
      if (id >= 0) set(bits_, id);
    }
  }
  return bits_;
}

std::vector<int32_t> FormFilter::forced() {
  if (now().phase == Phase::kThinking) return {};
  if (now().phase == Phase::kBound) return matcher_->forced();
  if (may_be_bound()) return {};
  const std::array<int32_t, 2> next = next_of_marks();
  if ((next[0] >= 0) == (next[1] >= 0)) {
    if (next[0] != next[1]) return {};
    return {next[0]};
  }
  return {std::max(next[0], next[1])};
}

void FormFilter::take(int32_t id) {
  State next = now();
  next.matched = false;
  const bool marked = next.phase == Phase::kBefore || next.phase == Phase::kBehind;
  if (next.phase == Phase::kThinking) {
    take_thought(id, next);
  } else if (marked && !(may_be_bound() && has(matcher_->allowed(), id))) {
    take_mark(id, next);
  } else {
    next.phase = Phase::kBound;
    next.matched = true;
    matcher_->take(id);
  }
  states_.push_back(next);
}

void FormFilter::take_thought(int32_t id, State& next) {
  const std::string& close = rules_->frame.think_close;
  thinking_ += rules_->tokenizer->bytes(id, /*special=*/true);
  next.n_bytes = thinking_.size();
  if (thinking_.find(close, next.from) != std::string::npos) {
    next = begin_answer(next, /*behind=*/true);
  } else if (thinking_.size() >= close.size()) {
    next.from = std::max(next.from, thinking_.size() - close.size() + 1);
  }
}

void FormFilter::take_mark(int32_t id, State& next) const {
  const std::array<Marks, 2> all = marks();
  const std::array<int32_t, 2> expected = next_of_marks();
  for (size_t i = 0; i < all.size(); ++i) next.begun[i] = expected[i] == id;
  ++next.n_marked;
  for (size_t i = 0; i < all.size(); ++i) {
    if (next.begun[i] && next.n_marked == all[i].ids->size()) next.phase = all[i].then;
  }
}

void FormFilter::undo(uint32_t n) {
  uint32_t n_matched = 0;
  for (uint32_t i = 0; i < n; ++i) {
    n_matched += now().matched ? 1 : 0;
    states_.pop_back();
  }
  matcher_->undo(n_matched);
  thinking_.resize(now().n_bytes);
}

std::unique_ptr<engine::TokenFilter> FormFilter::fork() const {
  return std::unique_ptr<FormFilter>(new FormFilter(*this));
}

}  // namespace puna::service
