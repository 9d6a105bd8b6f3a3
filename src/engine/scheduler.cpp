#include "engine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "kernels/sample/sample.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

// Steps between two chunks of a prompt that another text begins with, and before a text that could
// join is let in.
constexpr uint32_t kStepsBetween = 4;

bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

}  // namespace

struct Scheduler::Text {
  std::vector<int32_t> prompt;
  GenerateOptions options;
  std::vector<int32_t> end_tokens;
  OnToken on_token;
  std::function<void(Result<GenerateStats>)> done;

  uint32_t sequence = 0;
  std::vector<int32_t> next;  // behind what the cache holds
  size_t n_read = 0;          // of `next`, in chunks
  uint32_t n_steps = 0;       // tokens that are still to be chosen
  bool in_chunks = true;      // `next` may not fit the step that chooses a token
  bool chosen = false;        // the first token
  bool ended = false;
  GenerateStats stats;
  base::Timer timer;

  std::span<const int32_t> left() const { return std::span(next).subspan(n_read); }

  // Before the next step; true when the text ends here.
  bool cancelled() {
    if (!is_set(options.cancel)) return false;
    stats.stop = StopReason::kCancelled;
    return ended = true;
  }

  // Takes one chosen token.
  void take(int32_t id) {
    if (!std::exchange(chosen, true)) {
      stats.prompt_ms = timer.ms();
      timer = {};
    }
    next = {id};
    n_read = 0;
    if (cancelled()) return;
    ended = true;  // unless nothing of this holds
    const bool end = std::find(end_tokens.begin(), end_tokens.end(), id) != end_tokens.end();
    if (end && !options.ignore_end) {
      stats.stop = StopReason::kEnd;
      return;
    }
    ++stats.n_generated;
    --n_steps;
    if (!on_token(id)) {
      stats.stop = StopReason::kStopped;
    } else if (n_steps == 0) {
      const bool asked = options.max_tokens == stats.n_generated;
      stats.stop = asked ? StopReason::kLength : StopReason::kContext;
    } else {
      ended = false;
    }
  }
};

Scheduler::Scheduler(Engine& engine)
    : engine_(engine), used_(engine.options().n_sequences), clock_(used_.size()) {
  for (size_t i = 0; i < used_.size(); ++i) used_[i] = i + 1;
}

Result<void> Scheduler::check(const Text& text) const {
  PUNA_TRY(engine_.check_sampling(text.options.sampling));
  PUNA_TRY(engine_.check_tokens(text.prompt));
  if (text.prompt.empty())
    return base::fail(ErrorCode::kInvalidArgument, "The prompt has no tokens.");
  if (text.prompt.size() < engine_.context()) return {};
  const uint32_t trained = engine_.config().context;
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("The prompt has {} tokens, but the context holds {} and needs room for an "
                  "answer{}.",
                  text.prompt.size(), engine_.context(),
                  engine_.context() < trained
                      ? fmt::format("; the model was trained with a context of {}", trained)
                      : ""));
}

Task<Result<GenerateStats>> Scheduler::generate(std::vector<int32_t> prompt,
                                                GenerateOptions options,
                                                std::vector<int32_t> end_tokens, OnToken on_token) {
  auto text = std::make_shared<Text>();
  text->prompt = std::move(prompt);
  text->options = std::move(options);
  text->end_tokens = std::move(end_tokens);
  text->on_token = std::move(on_token);
  PUNA_CO_TRY(check(*text));
  co_return co_await base::await_callback<Result<GenerateStats>>(
      [&](std::function<void(Result<GenerateStats>)> done) {
        text->done = std::move(done);
        waiting_.push_back(text);
        if (std::exchange(driving_, true)) return wake();
        base::deliver<bool>(drive(), [](bool) {});
      });
}

Task<bool> Scheduler::drive() {
  while (!waiting_.empty() || !running_.empty()) {
    admit();
    const std::vector<TextPtr> texts(running_.begin(), running_.end());
    for (const TextPtr& text : texts) {
      if (text->cancelled()) finish(text, {});
    }
    const bool read = co_await read_prompts();
    const bool written = co_await write_texts();
    // With none running, what waits may begin, but for sequences that are being restored.
    const bool may_begin = running_.empty() && (waiting_.empty() || !is_full());
    if (read || written || may_begin) continue;
    co_await base::await_callback<bool>(
        [&](std::function<void(bool)> done) { wake_ = std::move(done); });
  }
  driving_ = false;
  co_return true;
}

void Scheduler::wake() {
  if (wake_) std::exchange(wake_, nullptr)(true);
}

bool Scheduler::is_held(const Text& text) const {
  return is_set(text.options.hold) && waiting_.empty();
}

bool Scheduler::is_full() const {
  return running_.size() >= kernels::kMaxBatch ||
         std::count(used_.begin(), used_.end(), 0) == static_cast<ptrdiff_t>(used_.size());
}

bool Scheduler::has_work_waiting() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const TextPtr& text) {
    return !is_full() || is_set(text->options.cancel);
  });
}

void Scheduler::admit() {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const TextPtr text = *it;
    if (text->cancelled()) {
      it = waiting_.erase(it);
      finish(text, {});
    } else if (is_full()) {
      ++it;
    } else {
      it = waiting_.erase(it);
      running_.push_back(text);
      if (auto begun = begin(*text); !begun) finish(text, std::move(begun));
    }
  }
}

// How many tokens at the start of the prompt the cache holds. At least the last one is evaluated:
// what comes after it is chosen.
uint32_t Scheduler::common(uint32_t sequence, std::span<const int32_t> prompt) const {
  const std::span<const int32_t> cached = engine_.cached(sequence);
  const auto limit = static_cast<ptrdiff_t>(std::min(cached.size(), prompt.size() - 1));
  const auto end = cached.begin() + limit;
  return static_cast<uint32_t>(std::mismatch(cached.begin(), end, prompt.begin()).first -
                               cached.begin());
}

std::optional<uint32_t> Scheduler::choose_sequence(std::span<const int32_t> prompt) const {
  std::optional<uint32_t> oldest, best;
  for (uint32_t sequence = 0; sequence < used_.size(); ++sequence) {
    if (used_[sequence] == 0) continue;
    if (!oldest || used_[sequence] < used_[*oldest]) oldest = sequence;
    const uint32_t n = common(sequence, prompt);
    const bool keeps_most = n > 0 && 2 * n >= engine_.n_cached(sequence);
    if (keeps_most && (!best || n > common(*best, prompt))) best = sequence;
  }
  return best ? best : oldest;
}

uint32_t Scheduler::n_cached(std::span<const int32_t> prompt) const {
  if (prompt.empty()) return 0;
  const std::optional<uint32_t> sequence = choose_sequence(prompt);
  return sequence ? common(*sequence, prompt) : 0;
}

std::vector<uint32_t> Scheduler::texts() const {
  std::vector<uint32_t> out;
  for (uint32_t sequence = 0; sequence < used_.size(); ++sequence) {
    if (used_[sequence] > used_.size()) out.push_back(sequence);
  }
  return out;
}

Task<Scheduler::Restored> Scheduler::restore(std::vector<int32_t> prompt, std::string model,
                                             std::vector<std::unique_ptr<io::ByteSource>> pieces) {
  Restored out;
  if (prompt.empty()) co_return out;
  const std::optional<uint32_t> sequence = choose_sequence(prompt);
  if (!sequence) co_return out;
  used_[*sequence] = 0;
  for (const auto& piece : pieces) {
    auto restored = co_await engine_.restore(*sequence, prompt, model, *piece);
    if (!restored) {
      out.error = std::move(restored.error());
      break;
    }
    ++out.n_pieces;
  }
  used_[*sequence] = ++clock_;
  out.n_cached = common(*sequence, prompt);
  wake();
  co_return out;
}

Result<void> Scheduler::begin(Text& text) {
  text.sequence = *choose_sequence(text.prompt);
  used_[text.sequence] = 0;
  text.timer = {};
  PUNA_TRY(engine_.rewind(text.sequence, common(text.sequence, text.prompt)));
  const uint32_t n_cached = engine_.n_cached(text.sequence);
  const auto n_prompt = static_cast<uint32_t>(text.prompt.size());
  text.stats.n_cached = n_cached;
  text.stats.n_prompt = n_prompt - n_cached;
  const uint32_t room = engine_.context() - n_prompt;
  text.n_steps = std::min(room, text.options.max_tokens.value_or(room));
  text.prompt.erase(text.prompt.begin(), text.prompt.begin() + static_cast<ptrdiff_t>(n_cached));
  text.next = std::move(text.prompt);
  return {};
}

Task<Result<void>> Scheduler::read_chunk(Text& text) {
  PUNA_CO_TRY(const uint32_t n, co_await engine_.prefill_chunk(text.sequence, text.left()));
  text.n_read += n;
  text.in_chunks = n > 0;
  if (text.in_chunks || text.n_steps > 0) co_return {};
  // Nothing is to be written.
  PUNA_CO_TRY(co_await engine_.prefill(text.sequence, {text.left().begin(), text.left().end()}));
  text.stats.stop = StopReason::kLength;
  text.ended = true;
  co_return {};
}

Task<bool> Scheduler::read_prompts() {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [](const TextPtr& text) { return text->in_chunks; });
  if (found == running_.end()) co_return false;
  const TextPtr text = std::move(*found);
  running_.erase(found);
  running_.push_back(text);  // the next prompt has the next turn
  auto read = co_await read_chunk(*text);
  if (!read || text->ended) finish(text, std::move(read));
  co_return true;
}

Task<bool> Scheduler::write_texts() {
  std::vector<TextPtr> texts;
  std::vector<BatchRow> rows;
  uint32_t n_steps = std::numeric_limits<uint32_t>::max();
  size_t n_tokens = 0;
  for (const TextPtr& text : running_) {
    if (is_held(*text)) continue;
    n_tokens += text->left().size();
    if (text->in_chunks || n_tokens > kernels::kMaxStepTokens) {
      n_tokens -= text->left().size();
      n_steps = std::min(n_steps, kStepsBetween);  // this one waits
      continue;
    }
    texts.push_back(text);
    n_steps = std::min(n_steps, text->n_steps);
    rows.push_back(
        {text->sequence, {text->left().begin(), text->left().end()}, text->options.sampling});
  }
  if (texts.empty()) co_return false;
  const auto written =
      co_await engine_.decode(std::move(rows), n_steps, [&](std::span<const int32_t> ids) {
        for (size_t i = 0; i < texts.size(); ++i) texts[i]->take(ids[i]);
        return !has_work_waiting() &&
               std::none_of(texts.begin(), texts.end(),
                            [&](const TextPtr& text) { return text->ended || is_held(*text); });
      });
  for (const TextPtr& text : texts) {
    if (!written || text->ended) finish(text, written);
  }
  co_return true;
}

void Scheduler::finish(const TextPtr& text, Result<void> result) {
  if (std::erase(running_, text) > 0) {
    used_[text->sequence] = ++clock_;
    (text->chosen ? text->stats.decode_ms : text->stats.prompt_ms) = text->timer.ms();
    // What a step that failed has left there is not known.
    if (!result) (void)engine_.forget(text->sequence);
  }
  if (result) {
    text->done(text->stats);
  } else {
    text->done(std::unexpected(std::move(result.error())));
  }
}

}  // namespace puna::engine
