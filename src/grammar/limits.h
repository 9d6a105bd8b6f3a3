// What a grammar may cost. Every limit can be set; an error that comes of one names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::grammar {

// A server compiles for strangers, a page for the one who opened it, and by a clock that also runs
// while the machine does something else (see Deadline).
#ifdef __EMSCRIPTEN__
inline constexpr uint32_t kCompileMs = 2'000;
#else
inline constexpr uint32_t kCompileMs = 50;
#endif

struct Limits {
  size_t text_bytes = 64 * 1024;     // of a schema, a grammar or an expression
  uint32_t depth = 64;               // of what stands inside of something
  uint32_t rules = 10'000;           // of a grammar, with those that front ends make
  uint32_t lexeme_states = 4'096;    // of the automaton of one lexeme
  uint32_t expressions = 1'000'000;  // nodes of the expressions of a grammar
  uint32_t compile_ms = kCompileMs;  // from the text to a grammar that can be matched; 0: no limit
  // Of each text. A grammar with many readings of the same text comes to them after some hundred
  // characters, others never do.
  uint32_t mask_steps = 1'000'000;  // of the chart, to say what may follow a place of the text
  size_t chart_bytes = size_t{64} << 20;  // of its chart
};

// The time that is left to compile; made where compiling begins. It is the time of this thread on a
// processor, so that a busy machine refuses no more than an idle one. In a page, where threads have
// no such clock, it is the time that passes.
class Deadline {
 public:
  explicit Deadline(const Limits& limits) : ms_(limits.compile_ms), start_us_(thread_us()) {}
  bool over() const { return ms_ != 0 && thread_us() - start_us_ > int64_t{ms_} * 1000; }
  // Errors: kInvalidArgument that names the limit.
  base::Result<void> check() const;

 private:
  static int64_t thread_us();

  uint32_t ms_;
  int64_t start_us_;
};

// "Line 3, column 7: WHAT" for the byte `at` of `text`, which may be its end; columns count
// characters. kInvalidArgument unless `code` says otherwise.
std::unexpected<base::Error> error_at(std::string_view text, size_t at, std::string_view what,
                                      base::ErrorCode code = base::ErrorCode::kInvalidArgument);

// "WHAT more than 10000, which is the limit rules.", where WHAT is such as "The rules are".
std::unexpected<base::Error> over_limit(std::string_view what, uint64_t most,
                                        std::string_view limit);

}  // namespace puna::grammar
