// Reading: a text under way, byte by byte, with its way back. A stack of frames: what is known
// behind the text so far, and behind what it was before. Read next: chart.h, matcher.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grammar/chart.h"

namespace puna::grammar {

class Reading {
 public:
  // With one frame, of the empty text.
  explicit Reading(std::shared_ptr<const Grammar> grammar);

  const Grammar& grammar() const { return chart_.grammar(); }
  uint32_t n_frames() const { return static_cast<uint32_t>(frames_.size()); }

  // Adds a frame behind one byte more; false, and no frame, where no text that fits begins so.
  bool push(uint8_t byte);
  // Adds a frame as if all these lexemes of the last one ended there; none goes on. Where that is
  // above a limit, nothing may follow it.
  void push_ended(std::span<const LexemeRun> ended);
  // Takes frames away from the end.
  void pop_to(uint32_t n_frames);
  // Keeps the last frame and those before `n_frames`; the way back then skips what was between.
  void join(uint32_t n_frames);

  // From here on as many steps are allowed as Limits::mask_steps says.
  void start_steps() { chart_.start_steps(); }
  // The limit that was come to, since when nothing is true of what may follow: nothing does.
  std::optional<base::Error> over_limit() const { return chart_.over_limit(); }
  void forget_limit() { chart_.forget_limit(); }

  // Finds what may begin behind the last frame, where lexemes may end; this is left until it is
  // asked for. Then complete() tells whether the text fits as it is, and runs() are the lexemes
  // that are under way or may begin.
  void settle();
  std::span<const LexemeRun> runs() const { return std::span(runs_).subspan(frames_.back().runs); }
  bool complete() const { return frames_.back().complete; }
  // See Chart::hash; of the last column.
  uint64_t column_hash() const { return chart_.hash(chart_.n_columns() - 1); }
  size_t size_bytes() const;

 private:
  struct Frame {
    uint32_t runs = 0;       // where they begin
    uint32_t n_columns = 0;  // of the chart
    bool settled = false;
    bool complete = false;  // known once it is settled
  };
  bool may_begin(uint8_t byte) const;
  void add_column(std::span<const LexemeRun> ended);
  void begin_lexemes(uint32_t column);

  Chart chart_;
  std::vector<Frame> frames_;
  // Of a frame that is not settled they may have ended; then all go on.
  std::vector<LexemeRun> runs_;
  std::vector<LexemeRun> ended_;  // of one frame
};

}  // namespace puna::grammar
