#include "engine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "engine/scheduler_text.h"
#include "kernels/sample/sample.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

constexpr uint32_t kPage = kernels::kPageTokens;

// Without a reader who waits, a step on the CPU takes about so long: what comes meanwhile, and a
// cancel, waits for it.
constexpr double kAloneMs = 1000;

// Of the time that a stream may wait, what a step takes; then its results have to reach the reader.
constexpr double kOfWait = 0.95;

// Steps that texts have room for when they begin a chain, where there is memory for no more.
constexpr uint32_t kLeastSteps = 64;

// A GPU begins the step behind a token before the filter has said what it forces there; where it
// forces some, that was in vain for a text that is alone. What it takes is about ten times what it
// saves, so it is not begun where that often happens: of the last tokens, about so many of them.
constexpr double kForcedOften = 0.1;

// A step of their own for forced tokens ends a decode whose steps begin ahead of their masks, and
// has more rows: beside other texts it pays from about so many tokens on. H100, an 8B in q4_0 with
// 16 texts: such a step takes 9 ms instead of 7, and waits 1 for the host.
uint32_t least_at_once(size_t n_texts) { return static_cast<uint32_t>(n_texts + 1) / 2; }

}  // namespace

// What a step evaluates.
struct Scheduler::Batch {
  std::vector<TextPtr> texts;  // by row
  std::vector<BatchRow> rows;
  uint32_t n_prompt_tokens = 0;  // of rows that read on in a prompt
  uint32_t n_decoded = 0;        // rows that only decode
  bool moves = false;            // rows with filters go on beside the others
};

Scheduler::Scheduler(Engine& engine) : engine_(engine), in_use_(engine.cache().n_sequences()) {}

Result<void> Scheduler::check_filter(TokenFilter& filter) const {
  const auto allowed = filter.allowed();
  const uint32_t vocab = engine_.config().vocab;
  if (!allowed || allowed->size() == filter_words(vocab)) return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("The filter of the text has bits for {} tokens, but the vocabulary "
                                "has {}.",
                                32 * allowed->size(), vocab));
}

Result<void> Scheduler::check(const Text& text) const {
  PUNA_TRY(engine_.check_sampling(text.options.sampling));
  if (text.ruled_out.size() >= engine_.config().vocab) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The logit biases of the text rule out all {} tokens of the "
                                  "vocabulary.",
                                  engine_.config().vocab));
  }
  return text.options.filter ? check_filter(*text.options.filter) : Result<void>();
}

Task<Result<GenerateStats>> Scheduler::generate(Prompt prompt, GenerateOptions options,
                                                std::vector<int32_t> end_tokens, OnToken on_token) {
  auto text = std::make_shared<Text>();
  PUNA_CO_TRY(engine_.check_prompt(prompt));
  text->tokens = prompt.tokens();
  text->media = prompt.spans();
  text->n_prompt = text->tokens.size();
  text->options = std::move(options);
  if (text->options.filter) text->filter.emplace(text->options.filter, engine_.config().vocab);
  for (const auto& [id, bias] : text->options.sampling.logit_bias) {
    if (bias == -std::numeric_limits<float>::infinity()) text->ruled_out.push_back(id);
  }
  text->end_tokens = std::move(end_tokens);
  text->on_token = std::move(on_token);
  text->order = ++clock_;
  PUNA_CO_TRY(check(*text));
  const std::optional<Shift>& shift = text->options.shift;
  text->context = engine_.context();
  if (shift && shift->context) text->context = std::min<size_t>(text->context, *shift->context);
  const auto room = static_cast<uint32_t>(text->context - std::min(text->context, text->n_prompt));
  const bool shifts = shift && room > 0 && text->media.empty();
  const uint32_t usual = shifts ? room + static_cast<uint32_t>(text->context) : room;
  const uint32_t most = text->options.max_tokens.value_or(usual);
  text->n_steps = std::min(room, most);
  if (shifts) text->n_after = most - text->n_steps;
  co_return co_await base::await_callback<Result<GenerateStats>>(
      [&](std::function<void(Result<GenerateStats>)> done) {
        text->done = std::move(done);
        waiting_.push_back(text);
        start();
      });
}

Task<Result<void>> Scheduler::alone(std::vector<uint32_t> n_tokens, Job job) {
  if (n_tokens.size() > in_use_.size()) {
    co_return base::fail(ErrorCode::kInvalidArgument,
                         fmt::format("{} texts at once are asked for; the engine has room for {}.",
                                     n_tokens.size(), in_use_.size()));
  }
  co_return co_await base::await_callback<Result<void>>(
      [&](std::function<void(Result<void>)> done) {
        jobs_.push_back({std::move(n_tokens), std::move(job), std::move(done)});
        start();
      });
}

void Scheduler::start() {
  if (std::exchange(driving_, true)) return wake();
  base::deliver<bool>(drive(), [](bool) {});
}

void Scheduler::wake() {
  ++n_wakes_;
  if (wake_) std::exchange(wake_, nullptr)(true);
}

Task<bool> Scheduler::drive() {
  while (!waiting_.empty() || !running_.empty() || !jobs_.empty()) {
    if (intake_.take_in) intake_.take_in();
    const uint64_t seen = n_wakes_;
    drop_cancelled();
    co_await run_jobs();
    const bool admitted = co_await admit();
    const bool stepped = co_await step();
    const bool is_over = waiting_.empty() && running_.empty();
    if (admitted || stepped || is_over || seen != n_wakes_) continue;
    // The readers of all texts are behind.
    co_await base::await_callback<bool>(
        [&](std::function<void(bool)> done) { wake_ = std::move(done); });
  }
  driving_ = false;
  co_return true;
}

void Scheduler::drop_cancelled() {
  for (const std::list<TextPtr>* list : {&running_, &waiting_}) {
    const std::vector<TextPtr> texts(list->begin(), list->end());
    for (const TextPtr& text : texts) {
      if (text->cancelled()) finish(text, {});
    }
  }
}

Task<bool> Scheduler::run_jobs() {
  // Those that are posted meanwhile wait for a step: a long job is several, each posted by the end
  // of the one before, and texts go on between them.
  for (size_t n_left = jobs_.size(); n_left > 0; --n_left) {
    const Waiting next = std::move(jobs_.front());
    jobs_.pop_front();
    const size_t n_texts = next.n_tokens.size();
    uint64_t n_pages = 0;
    uint64_t n_window_pages = 0;
    const TextCache& cache = engine_.cache();
    for (const uint32_t n : next.n_tokens) {
      n_pages += kernels::pages_for(n);
      // What is taken up again has all of them at once.
      n_window_pages += std::min<uint64_t>(kernels::pages_for(n), cache.windows().n_slots());
    }
    while (!running_.empty() && (n_free_sequences() < n_texts || cache.n_available() < n_pages ||
                                 cache.n_window_available() < n_window_pages)) {
      give_way(youngest());
    }
    std::vector<uint32_t> sequences;
    while (sequences.size() < n_texts) {
      sequences.push_back(*free_sequence());
      in_use_[sequences.back()] = true;
    }
    auto done = co_await next.job(sequences);
    // What evaluates texts is about as many steps as it has cut them into: one.
    if (n_texts > 0) steps_.end(1, n_texts);
    for (const uint32_t sequence : sequences) {
      engine_.cache().forget(sequence);
      in_use_[sequence] = false;
    }
    next.done(std::move(done));
  }
  co_return true;
}

std::optional<uint32_t> Scheduler::free_sequence() const {
  const auto found = std::ranges::find(in_use_, false);
  if (found == in_use_.end()) return {};
  return static_cast<uint32_t>(found - in_use_.begin());
}

uint32_t Scheduler::n_free_sequences() const {
  return static_cast<uint32_t>(std::ranges::count(in_use_, false));
}

bool Scheduler::has_room(const Text& text) const {
  if (running_.empty()) return true;  // the cache holds a whole context
  // A page for each of the others to go on.
  const TextCache& cache = engine_.cache();
  const uint64_t n_wanted = begins_afresh(text) ? kernels::pages_for(text.tokens.size() + 1)
                                                : cache.n_wanted(text.tokens);
  return n_wanted + running_.size() <= cache.n_available() &&
         cache.n_window_wanted(text.tokens.size() + 1) + running_.size() <=
             cache.n_window_available();
}

// Texts that come together and begin alike, as answers to one prompt or chats with one system
// prompt do, read their beginning once. Only an older text is waited for, so that the wait ends.
void Scheduler::look_ahead(const TextPtr& text) const {
  if (is_behind(*text) || begins_afresh(*text)) return;
  text->ahead.reset();
  // Nobody reads in most steps, and the beginning need not be looked up in each.
  if (std::ranges::all_of(running_, [](const TextPtr& other) { return other->chosen; })) return;
  const std::span<const int32_t> tokens(text->tokens);
  size_t n_known = engine_.cache().n_known(tokens);
  for (const TextPtr& other : running_) {
    if (other->order > text->order || other->chosen) continue;
    const auto parts = std::ranges::mismatch(tokens.first(tokens.size() - 1), other->tokens);
    const size_t n_alike = static_cast<size_t>(parts.in1 - tokens.begin()) / kPage * kPage;
    if (n_alike < n_known + kPage || engine_.cache().n_tokens(other->sequence) >= n_alike) continue;
    n_known = n_alike;
    text->ahead = other;
    text->n_shared = n_alike;
  }
  if (const TextPtr ahead = text->ahead.lock()) ahead->branches.insert(text->n_shared);
}

bool Scheduler::is_behind(const Text& text) const {
  const TextPtr ahead = text.ahead.lock();
  return ahead && !ahead->chosen && !is_held(*ahead) &&
         std::ranges::find(running_, ahead) != running_.end() &&
         engine_.cache().n_tokens(ahead->sequence) < text.n_shared;
}

Scheduler::TextPtr Scheduler::next_waiting() const {
  const auto found = std::ranges::find_if(
      waiting_, [&](const TextPtr& text) { return !is_held(*text) && !is_behind(*text); });
  return found == waiting_.end() ? nullptr : *found;
}

// What it has evaluated itself is not evaluated again when it had to give way.
bool Scheduler::begins_afresh(const Text& text) { return !text.options.reuse && !text.begun; }

// Of what the text may begin with: all but the last token, as what comes after that is chosen;
// where it would begin among rows that attend to each other, what these are behind: layers with
// windows may have lost what the first of them left.
ptrdiff_t Scheduler::most_known(const Text& text) const {
  size_t n = text.tokens.size() - 1;
  const size_t known = text.media.empty() ? n : engine_.cache().n_known(text.tokens);
  const Prompt::Span* span = span_at(text.media, known);
  const bool among = span && span->media->both_ways && known > span->first;
  if (among && engine_.window() > 0 && span->media->n_rows > engine_.window()) n = span->first;
  return static_cast<ptrdiff_t>(n);
}

bool Scheduler::may_begin(const Text& text) const {
  return free_sequence() && running_.size() < kernels::kMaxBatch && has_room(text);
}

Task<bool> Scheduler::admit() {
  bool admitted = false;
  while (const TextPtr text = next_waiting()) {
    look_ahead(text);
    if (is_behind(*text)) continue;
    // What nobody reads does not keep others waiting.
    while (!may_begin(*text) && is_held(*youngest())) give_way(youngest());
    if (!may_begin(*text)) break;
    const auto sequence = free_sequence();
    std::erase(waiting_, text);
    const bool afresh = begins_afresh(*text);
    const bool again = std::exchange(text->begun, true);
    if (!again) {
      text->timer = {};
      if (text->n_steps > 0) text->follow_filter();
      if (text->ended) {
        text->stats.n_unread = static_cast<uint32_t>(text->n_prompt);
        finish(text, text->outcome());
        continue;
      }
    }
    running_.push_back(text);
    in_use_[*sequence] = true;
    text->sequence = *sequence;
    std::vector<int32_t> beginning;
    if (!afresh) beginning.assign(text->tokens.begin(), text->tokens.begin() + most_known(*text));
    auto begun = co_await engine_.cache().begin(*sequence, std::move(beginning));
    if (!begun) {
      finish(text, std::move(begun));
      continue;
    }
    if (!again) {
      const auto n_prompt = static_cast<uint32_t>(text->n_prompt);
      text->stats.n_cached = std::min(engine_.cache().n_tokens(*sequence), n_prompt);
      text->stats.n_prompt = n_prompt - text->stats.n_cached;
      text->tell(text->stats.n_cached);
    }
    admitted = true;
  }
  co_return admitted;
}

void Scheduler::give_way(const TextPtr& text) {
  std::erase(running_, text);
  (void)engine_.cache().end(text->sequence);
  in_use_[text->sequence] = false;
  // It is older than those that have not begun.
  const auto before = std::ranges::find_if(
      waiting_, [&](const TextPtr& other) { return other->order > text->order; });
  waiting_.insert(before, text);
}

Scheduler::TextPtr Scheduler::youngest() const {
  const auto key = [](const TextPtr& text) { return std::pair(is_held(*text), text->order); };
  return *std::ranges::max_element(running_, {}, key);
}

bool Scheduler::is_held(const Text& text) {
  return text.options.control && text.options.control->hold;
}

bool Scheduler::has_work_waiting() const {
  if (!jobs_.empty() || (intake_.pending && intake_.pending())) return true;
  const TextPtr next = next_waiting();
  if (next && may_begin(*next)) return true;
  return std::ranges::any_of(waiting_, [](const TextPtr& text) {
    return text->options.control && text->options.control->cancel;
  });
}

Scheduler::Batch Scheduler::choose_rows() {
  const TextCache& cache = engine_.cache();
  const auto left = [&](const Text& text) {
    return std::span(text.tokens).subspan(cache.n_tokens(text.sequence));
  };
  Batch batch;
  const auto add = [&](const TextPtr& text, size_t n) {
    const auto tokens = left(*text).first(n);
    BatchRow& row = batch.rows.emplace_back();
    row.sequence = text->sequence;
    row.tokens.assign(tokens.begin(), tokens.end());
    row.media = text->media;
    row.sampling = text->options.sampling;
    row.chooses = n == left(*text).size() && text->n_steps > 0;
    if (row.chooses) {
      row.filter = text->filter ? &*text->filter : nullptr;
      if (row.filter && text->is_steady()) row.n_steady = text->n_steady;
      row.state = &text->sampler;
    }
    batch.texts.push_back(text);
  };
  for (const TextPtr& text : running_) {
    if (!is_held(*text) && text->chosen && left(*text).size() == 1) add(text, 1);
  }
  batch.n_decoded = static_cast<uint32_t>(batch.rows.size());
  // Prompts, and what texts that gave way have to read again.
  const EngineOptions& options = engine_.options();
  double ms = options.turn_ms > 0 ? options.turn_ms : engine_.device() ? 0 : kAloneMs;
  size_t n_left = 0;
  for (const TextPtr& text : running_) {
    if (!is_held(*text)) n_left += left(*text).size();
  }
  n_left -= batch.n_decoded;
  const StepBudget& known = engine_.budget();
  if (!batch.rows.empty())
    ms = kOfWait * known.stream_wait_ms(options.step_ms, n_left) - known.decode_ms();
  const uint32_t most = engine_.step_tokens(n_left);
  size_t budget = std::min<size_t>(known.tokens(ms, most), most - batch.rows.size());
  for (const TextPtr& text : running_) {
    const size_t n = left(*text).size();
    if (is_held(*text) || (text->chosen && n == 1) || budget == 0) continue;
    const size_t from = text->tokens.size() - n;
    const size_t wanted = from + std::min(budget, next_stop(*text, from) - from);
    // Rows that attend to each other take what time they take; where there is no room for them any
    // more, the next step begins with them.
    const size_t piece = whole_end(text->media, from, wanted) - from;
    if (piece > engine_.step_rows() - batch.n_decoded - batch.n_prompt_tokens) continue;
    add(text, piece);
    budget -= std::min(budget, piece);
    batch.n_prompt_tokens += static_cast<uint32_t>(piece);
  }
  const auto by_host = [](const BatchRow& row) { return row.sampling.on_host(); };
  const auto changes = [](const BatchRow& row) { return row.filter && row.n_steady == 0; };
  if (std::ranges::any_of(batch.rows, changes) && std::ranges::none_of(batch.rows, by_host)) {
    batch.moves = true;
    for (BatchRow& row : batch.rows) row.moves = row.filter != nullptr;
  }
  return batch;
}

// Where a recurrent state is to be kept next: where others part from the text, now and then in a
// long prompt, and at the last whole page of it, behind which another answer may begin.
size_t Scheduler::next_stop(const Text& text, size_t from) const {
  size_t stop = text.tokens.size();
  if (!engine_.recurrent()) return stop;
  const size_t interval = static_cast<size_t>(std::max<uint64_t>(
                              kernels::pages_for(engine_.options().state_interval), 1)) *
                          kPage;
  for (const size_t at :
       {size_t{engine_.cache().branch(text.sequence)}, (from / interval + 1) * interval,
        (text.tokens.size() - 1) / kPage * kPage}) {
    if (at > from) stop = std::min(stop, at);
  }
  const auto branch = text.branches.upper_bound(from);
  return branch == text.branches.end() ? stop : std::min(stop, *branch);
}

uint32_t Scheduler::n_steps_of(const Batch& batch) const {
  if (batch.n_prompt_tokens > 0) return 1;
  if (batch.moves && batch.texts.size() == 1 && batch.texts[0]->forced_share > kForcedOften)
    return 1;
  std::optional<uint32_t> least;
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const uint32_t left = batch.texts[i]->n_steps;
    if (!batch.rows[i].once()) least = std::min(least.value_or(left), left);
  }
  const uint32_t n = least.value_or(1);
  // What ended texts have left is not given up for steps that may never come.
  const TextCache& cache = engine_.cache();
  const auto free =
      static_cast<uint32_t>(std::min(cache.n_free(), cache.n_window_free()) / batch.texts.size());
  return std::min(n, std::max(free * kPage, kLeastSteps));
}

Task<bool> Scheduler::step() {
  Batch batch = choose_rows();
  uint32_t n_steps = 0;
  for (; !batch.rows.empty(); batch = choose_rows()) {
    n_steps = n_steps_of(batch);
    const auto fits = [&](uint32_t steps) {
      uint32_t n = 0;
      for (const BatchRow& row : batch.rows) {
        const uint32_t further = row.once() ? 0 : steps - 1;
        n += engine_.cache().n_wanted(row.sequence,
                                      static_cast<uint32_t>(row.tokens.size()) + further);
      }
      return n <= engine_.cache().n_available() && n <= engine_.cache().n_window_available();
    };
    if (fits(n_steps)) break;
    n_steps = 1;
    if (fits(1) || running_.size() == 1) break;
    give_way(youngest());
  }
  if (batch.rows.empty()) co_return false;
  // The next prompt has the next turn.
  if (batch.n_prompt_tokens > 0) {
    const auto reads = std::ranges::find(running_, batch.texts.back());
    running_.splice(running_.end(), running_, reads);
  }
  co_await run(batch, n_steps);
  co_return true;
}

Task<bool> Scheduler::run(Batch& batch, uint32_t n_steps) {
  std::vector<TextPtr> choosing, going_on;
  std::vector<bool> once;
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    if (!batch.rows[i].chooses) continue;
    choosing.push_back(batch.texts[i]);
    once.push_back(batch.rows[i].once());
    if (!once.back()) going_on.push_back(batch.texts[i]);
  }
  const bool batch_moves = batch.moves;
  const bool begins_ahead = batch_moves && engine_.executor().begins_ahead();
  const uint32_t least = begins_ahead ? least_at_once(choosing.size()) : 1;
  const base::Timer timer;
  uint32_t n_done = 0;
  std::vector<TextPtr> undecided;
  // Behind the token of such a text the filter has forced some, for a step of their own. The step
  // under way evaluates the token; the others go on with it, and then it is over.
  std::vector<bool> is_ahead(choosing.size());
  size_t n_ahead = 0;
  const auto on_step = [&](std::span<const kernels::Chosen> chosen) {
    const bool is_first = n_done++ == 0;
    const std::vector<TextPtr>& texts = is_first ? choosing : going_on;
    bool goes_on = n_ahead == 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (is_ahead[i]) continue;
      const size_t n = texts[i]->tokens.size();
      if (chosen[i].id == kernels::kNoToken) {
        undecided.push_back(texts[i]);
      } else {
        texts[i]->take(chosen[i], least);
      }
      if (batch_moves && texts[i]->tokens.size() > n + 1) {
        is_ahead[i] = true;
        ++n_ahead;
      }
      goes_on = goes_on && !texts[i]->ended && !texts[i]->shifted && !is_held(*texts[i]) &&
                ((is_first && once[i]) || batch_moves || texts[i]->holds());
    }
    if (n_ahead == texts.size()) goes_on = false;
    // Chains of steps cost less still than steps that begin ahead.
    if (batch_moves && std::ranges::all_of(texts, &Text::has_held)) goes_on = false;
    return GoesOn(goes_on && undecided.empty() && !has_work_waiting(), n_ahead > 0);
  };
  const size_t n_rows = batch.rows.size();
  steps_.begin(engine_.budget().expected_ms(batch.n_prompt_tokens, n_steps));
  const auto done = co_await engine_.decode(std::move(batch.rows), n_steps, on_step);
  steps_.end(std::max(n_done, 1U),
             n_rows + uint64_t{going_on.size()} * (n_done > 0 ? n_done - 1 : 0));
  if (!done) {
    for (const TextPtr& text : batch.texts) finish(text, done);
    co_return false;
  }
  if (batch.n_prompt_tokens == 0) {
    engine_.budget().decoded(timer.ms() / n_done);
  } else {
    if (engine_.options().turn_ms > 0) {
      if (auto rested = co_await engine_.executor().rest(); !rested) {
        for (const TextPtr& text : batch.texts) finish(text, rested);
        co_return false;
      }
    }
    // A few tokens, such as those that a filter forces, say nothing beside what else is in the
    // step. A GPU may still be at what chooses nothing; the next step that does takes as long as
    // both.
    const bool tells = batch.n_prompt_tokens >= StepBudget::kLeast || choosing.empty();
    if (tells) {
      unread_tokens_ += batch.n_prompt_tokens;
      unread_ms_ += engine_.budget().prompt_ms(timer.ms(), batch.n_decoded);
      unread_beside_ += batch.n_decoded;
    }
    if (!choosing.empty() || !engine_.device() || engine_.options().turn_ms > 0) {
      engine_.budget().read(std::exchange(unread_tokens_, 0), std::exchange(unread_ms_, 0),
                            std::exchange(unread_beside_, 0));
    }
  }
  for (const TextPtr& text : undecided) {
    const Control* const control = text->options.control.get();
    base::Error why =
        co_await engine_.no_choice(text->sequence, control ? &control->cancel : nullptr);
    finish(text, text->cancelled() ? Result<void>() : std::unexpected(std::move(why)));
  }
  for (const TextPtr& text : batch.texts) {
    if (std::ranges::find(undecided, text) != undecided.end()) continue;
    if (std::exchange(text->shifted, false) && !text->ended) {
      // What it goes on with is begun again.
      give_way(text);
      continue;
    }
    if (auto kept = settle(*text); !kept) {
      finish(text, std::move(kept));
    } else if (text->ended) {
      finish(text, text->outcome());
    }
  }
  co_return true;
}

// After a step: others may go on with what it evaluated.
Result<void> Scheduler::settle(Text& text) {
  TextCache& cache = engine_.cache();
  const size_t n = cache.n_tokens(text.sequence);
  text.tell(n);
  if (n >= text.tokens.size() && text.n_steps == 0 && !text.ended) {
    text.stats.stop = StopReason::kLength;  // nothing is to be written
    text.ended = true;
  }
  if (engine_.recurrent() && !text.chosen && n > 0 && next_stop(text, n - 1) == n)
    return cache.keep(text.sequence);
  return cache.publish(text.sequence);
}

void Scheduler::finish(const TextPtr& text, Result<void> result) {
  std::erase(waiting_, text);
  if (std::erase(running_, text) > 0) {
    if (result) result = engine_.cache().end(text->sequence);
    // What a step that failed has left there is not known.
    if (!result) engine_.cache().forget(text->sequence);
    in_use_[text->sequence] = false;
  }
  if (text->begun)
    (text->chosen ? text->stats.decode_ms : text->stats.prompt_ms) = text->timer.ms();
  if (result) {
    text->done(text->stats);
  } else {
    text->done(std::unexpected(std::move(result.error())));
  }
}

}  // namespace puna::engine
