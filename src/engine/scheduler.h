// Scheduler: the texts that one engine writes at the same time. Each has a sequence of the engine
// to itself while it runs. Steps mix them: the next token of every text that is being written, and
// as much of the prompts of others as fits the time that those may wait (step_budget.h). When
// memory runs out, the youngest text gives way and is taken up again later.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/engine.h"
#include "engine/step_watch.h"

namespace puna::engine {

enum class StopReason : uint8_t { kEnd, kLength, kContext, kCancelled, kStopped };

// What others may say of a text while it is written, from any thread; then wake() is called.
struct Control {
  std::atomic<bool> cancel = false;
  std::atomic<bool> hold = false;  // its reader is behind: no more of it is written
};

// What happens where the context of a text is full, in place of its end: of what is behind its
// first tokens the oldest go, and it goes on behind the rest, which is evaluated again in its new
// place.
struct Shift {
  std::optional<uint32_t> n_keep = 0;  // of the first; none: the prompt. At most 3/4 of the context
  uint32_t n_discard = 0;              // of those behind them; 0: half
  std::optional<uint32_t> context = {};  // of this text, where it is not the engine's
};

// How far the prompt of a text is read.
struct PromptProgress {
  uint32_t n_tokens = 0;  // of the prompt
  uint32_t n_cached = 0;  // of these, those that the cache held
  uint32_t n_read = 0;    // of these, those and what was evaluated since
  double ms = 0;          // since the text had a sequence
};

struct GenerateOptions {
  kernels::SamplingParams sampling;
  std::optional<uint32_t> max_tokens;  // none = until the end token or the context is full
  bool ignore_end = false;             // go on after an end token
  // None: a full context ends the text. Without max_tokens one more context of tokens is written,
  // so that a text ends at all. Texts with media are never shifted.
  std::optional<Shift> shift = {};
  bool reuse = true;  // what the cache holds of the prompt is not evaluated again
  std::shared_ptr<const Control> control;
  // Of this text alone; null: any token may come next. What it forces is written whatever its logit
  // bias is.
  std::shared_ptr<TokenFilter> filter;
  // Called when the text has a sequence, whenever more of its prompt is read, and at the end of it
  // before its first token; null: nobody is told.
  std::function<void(const PromptProgress& progress)> on_prompt = {};
};

// Called for each token as it is chosen (end tokens too, unless they end the text); false stops.
using OnToken = std::function<bool(const kernels::Chosen& chosen)>;

struct GenerateStats {
  uint32_t n_prompt = 0;  // tokens of the prompt that were evaluated now
  uint32_t n_cached = 0;  // tokens of the prompt that the cache already held
  uint32_t n_unread = 0;  // tokens of the prompt that no step needed: the whole text was forced
  uint32_t n_generated = 0;
  uint32_t n_discarded = 0;  // tokens that went where the context was full
  double prompt_ms = 0;      // from when it had a sequence until the first token was chosen
  double decode_ms = 0;      // after that
  // Where tokens went, the text as it is then: what the cache knows of it. Otherwise empty.
  std::vector<int32_t> left{};
  StopReason stop = StopReason::kEnd;

  uint32_t prompt_tokens() const { return n_prompt + n_cached + n_unread; }
};

class Scheduler {
 public:
  explicit Scheduler(Engine& engine);  // which outlives it
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Writes on from `prompt`; waits while there is no sequence or no room for it. What the cache
  // holds of its beginning is not evaluated again. on_token sees each new token. What the filter
  // forces is read in one step, but where probabilities are asked for. Errors: kInvalidArgument
  // when the prompt is empty, holds unknown ids, or leaves no room in the context (both numbers
  // named), parameters are out of range, the filter is of another vocabulary, or it and the logit
  // biases of -inf together leave nothing; those of no_numbers.h; those of the device.
  base::Task<base::Result<GenerateStats>> generate(Prompt prompt, GenerateOptions options,
                                                   std::vector<int32_t> end_tokens,
                                                   OnToken on_token);

  // Something else that uses the engine, between two steps and beside none: embeddings, logits,
  // saving and restoring. It gets an empty sequence for each text that it evaluates, n_tokens at
  // most of each, for which others give way where need be; whatever it leaves there is forgotten.
  // Errors: kInvalidArgument for more texts than the engine has sequences; those of the job.
  using Sequences = std::span<const uint32_t>;
  using Job = std::function<base::Task<base::Result<void>>(Sequences sequences)>;
  base::Task<base::Result<void>> alone(std::vector<uint32_t> n_tokens, Job job);

  // After something was changed in the control of a text.
  void wake();
  // Whether nothing goes on before one of the calls above: there is nothing to do, or the readers
  // of all texts are behind.
  bool is_idle() const { return !driving_ || wake_; }

  // What comes from other threads. A chain of steps ends when some is `pending`, which is asked
  // after every step; between two steps it is taken in, by calls of the above.
  struct Intake {
    std::function<bool()> pending;
    std::function<void()> take_in;
  };
  void set_intake(Intake intake) { intake_ = std::move(intake); }

  // For reports. steps(): from any thread.
  const StepWatch& steps() const { return steps_; }
  uint32_t n_running() const { return static_cast<uint32_t>(running_.size()); }
  uint32_t n_waiting() const { return static_cast<uint32_t>(waiting_.size()); }

 private:
  struct Text;
  struct Batch;
  using TextPtr = std::shared_ptr<Text>;
  struct Waiting {
    std::vector<uint32_t> n_tokens;  // by text
    Job job;
    std::function<void(base::Result<void>)> done;
  };

  base::Result<void> check(const Text& text) const;
  base::Result<void> check_filter(TokenFilter& filter) const;
  void start();
  // Runs while there is something to do.
  base::Task<bool> drive();
  void drop_cancelled();
  base::Task<bool> run_jobs();
  // Gives sequences to the texts that wait, in order, as long as there is room. False: to none.
  base::Task<bool> admit();
  // The next that could begin if there were room; null: none whose reader is there.
  TextPtr next_waiting() const;
  // Finds the running text whose beginning `text` shares and should wait for.
  void look_ahead(const TextPtr& text) const;
  bool is_behind(const Text& text) const;
  std::optional<uint32_t> free_sequence() const;
  uint32_t n_free_sequences() const;
  bool has_room(const Text& text) const;
  bool may_begin(const Text& text) const;
  static bool begins_afresh(const Text& text);
  ptrdiff_t most_known(const Text& text) const;
  // Ends a text for now: what is evaluated of it stays as long as it may.
  void give_way(const TextPtr& text);
  // The text that gives way first: one whose reader is behind, else the youngest.
  TextPtr youngest() const;
  static bool is_held(const Text& text);
  // Whether something waits that could go on, so that a chain of steps is to end for it.
  bool has_work_waiting() const;

  // One step, or a chain of steps when no prompt is to be read. False when there was nothing to do.
  base::Task<bool> step();
  Batch choose_rows();
  size_t next_stop(const Text& text, size_t from) const;
  uint32_t n_steps_of(const Batch& batch) const;
  base::Task<bool> run(Batch& batch, uint32_t n_steps);
  base::Result<void> settle(Text& text);
  // Frees its sequence and answers.
  void finish(const TextPtr& text, base::Result<void> result);

  Engine& engine_;
  Intake intake_;
  std::list<TextPtr> waiting_, running_;  // running: the next prompt to be read is first
  std::list<Waiting> jobs_;
  std::vector<bool> in_use_;  // by sequence
  uint64_t clock_ = 0;
  uint64_t n_wakes_ = 0;
  uint32_t unread_tokens_ = 0;  // of prompts, whose time is not known yet
  double unread_ms_ = 0;
  uint32_t unread_beside_ = 0;  // tokens that were decoded beside them
  StepWatch steps_;
  bool driving_ = false;
  std::function<void(bool)> wake_;  // set while all texts are held
};

}  // namespace puna::engine
