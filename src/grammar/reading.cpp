#include "grammar/reading.h"

#include <algorithm>

#include "base/check.h"

namespace puna::grammar {

Reading::Reading(std::shared_ptr<const Grammar> grammar) : chart_(std::move(grammar)) {
  frames_.push_back({0, 1, chart_.complete(0)});
  begin_lexemes(0);
}

void Reading::begin_lexemes(uint32_t column) {
  for (const uint32_t lexeme : chart_.lexemes(column))
    runs_.push_back({lexeme, column, {Lexeme::kStart, 0}});
}

bool Reading::push(uint8_t byte) {
  const size_t begin = frames_.back().runs, end = runs_.size();
  const Grammar& rules = chart_.grammar();
  ended_.clear();
  for (size_t i = begin; i < end; ++i) {
    LexemeRun run = runs_[i];
    const Lexeme& lexeme = rules.lexeme(run.lexeme).lexeme;
    run.place = lexeme.step(run.place, byte);
    if (run.place.state == Lexeme::kDead) continue;
    if (lexeme.accepts(run.place)) ended_.push_back(run);
    if (lexeme.goes_on(run.place)) runs_.push_back(run);
  }
  if (ended_.empty() && runs_.size() == end) return false;
  Frame frame{static_cast<uint32_t>(end), chart_.n_columns(), false};
  if (!ended_.empty()) {
    chart_.add_column(ended_);
    begin_lexemes(frame.n_columns);
    frame.complete = chart_.complete(frame.n_columns);
    ++frame.n_columns;
  }
  frames_.push_back(frame);
  return true;
}

void Reading::push_ended(std::span<const LexemeRun> ended) {
  const uint32_t column = chart_.n_columns();
  chart_.add_column(ended);
  frames_.push_back({static_cast<uint32_t>(runs_.size()), column + 1, chart_.complete(column)});
  begin_lexemes(column);
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
    if (!reading.push(static_cast<uint8_t>(c))) return false;
    reading.join(1);
  }
  return true;
}

}  // namespace

bool accepts(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Reading reading(grammar);
  return push_all(reading, text) && reading.complete();
}

bool accepts_prefix(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Reading reading(grammar);
  return push_all(reading, text);
}

}  // namespace puna::grammar
