#include "grammar/reading.h"

#include <algorithm>

#include "base/check.h"

namespace puna::grammar {

Reading::Reading(std::shared_ptr<const Grammar> grammar) : chart_(std::move(grammar)) {
  frames_.push_back({0, 1, /*settled=*/true, chart_.complete(0)});
  begin_lexemes(0);
}

void Reading::begin_lexemes(uint32_t column) {
  for (const uint32_t lexeme : chart_.lexemes(column))
    runs_.push_back({lexeme, column, {Lexeme::kStart, 0}});
}

// Whether the byte may come right behind a lexeme that may have ended in the last frame. What comes
// of it is asked for only then: in a long word every letter may be the last.
bool Reading::may_begin(uint8_t byte) const {
  return std::ranges::any_of(runs(), [&](const LexemeRun& run) {
    const Grammar::LexemeUse& use = grammar().lexeme(run.lexeme);
    return use.follow.contains(byte) && use.lexeme.accepts(run.place);
  });
}

bool Reading::push(uint8_t byte) {
  if (!frames_.back().settled && may_begin(byte)) settle();
  const size_t begin = frames_.back().runs, end = runs_.size();
  bool ends = false;
  for (size_t i = begin; i < end; ++i) {
    LexemeRun run = runs_[i];
    const Lexeme& lexeme = grammar().lexeme(run.lexeme).lexeme;
    run.place = lexeme.step(run.place, byte);
    if (run.place.state == Lexeme::kDead) continue;
    ends |= lexeme.accepts(run.place);
    runs_.push_back(run);
  }
  if (runs_.size() == end) return false;
  frames_.push_back({static_cast<uint32_t>(end), frames_.back().n_columns, !ends, false});
  return true;
}

void Reading::settle() {
  if (frames_.back().settled) return;
  ended_.clear();
  for (const LexemeRun& run : runs()) {
    if (grammar().lexeme(run.lexeme).lexeme.accepts(run.place)) ended_.push_back(run);
  }
  const auto begin = runs_.begin() + static_cast<ptrdiff_t>(frames_.back().runs);
  runs_.erase(std::remove_if(begin, runs_.end(),
                             [&](const LexemeRun& run) {
                               return !grammar().lexeme(run.lexeme).lexeme.goes_on(run.place);
                             }),
              runs_.end());
  add_column(ended_);
}

// Settles the last frame by the lexemes that ended there.
void Reading::add_column(std::span<const LexemeRun> ended) {
  Frame& frame = frames_.back();
  frame.settled = true;
  if (!chart_.add_column(ended)) {
    runs_.resize(frame.runs);
    return;
  }
  frame.n_columns = chart_.n_columns();
  frame.complete = chart_.complete(frame.n_columns - 1);
  begin_lexemes(frame.n_columns - 1);
}

void Reading::push_ended(std::span<const LexemeRun> ended) {
  frames_.push_back({static_cast<uint32_t>(runs_.size()), chart_.n_columns(), true, false});
  add_column(ended);
}

void Reading::pop_to(uint32_t n_frames) {
  if (n_frames == frames_.size()) return;
  PUNA_CHECK(n_frames > 0 && n_frames < frames_.size());
  runs_.resize(frames_[n_frames].runs);
  frames_.resize(n_frames);
  chart_.truncate(frames_.back().n_columns);
}

void Reading::join(uint32_t n_frames) {
  if (n_frames + 1 >= frames_.size()) return;
  Frame last = frames_.back();
  const auto to = runs_.begin() + static_cast<ptrdiff_t>(frames_[n_frames].runs);
  runs_.erase(to, runs_.begin() + static_cast<ptrdiff_t>(last.runs));
  last.runs = frames_[n_frames].runs;
  frames_.resize(n_frames);
  frames_.push_back(last);
}

size_t Reading::size_bytes() const {
  return chart_.size_bytes() + frames_.capacity() * sizeof(Frame) +
         runs_.capacity() * sizeof(LexemeRun);
}

namespace {

bool push_all(Reading& reading, std::string_view text) {
  for (const char c : text) {
    reading.start_steps();
    if (!reading.push(static_cast<uint8_t>(c))) return false;
    reading.join(1);
  }
  return true;
}

}  // namespace

bool accepts(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Reading reading(grammar);
  if (!push_all(reading, text)) return false;
  reading.settle();
  return reading.complete();
}

bool accepts_prefix(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Reading reading(grammar);
  return push_all(reading, text);
}

}  // namespace puna::grammar
