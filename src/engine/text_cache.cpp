#include "engine/text_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;
using NodeId = Prefixes::NodeId;
using Why = WindowSlots::Why;

namespace {

constexpr uint32_t kPage = kernels::kPageTokens;

// Texts that may end until one that nobody came back to gives up its pages before others do.
uint32_t patience_with(uint32_t n_sequences) { return std::max<uint32_t>(64, 4 * n_sequences); }

uint32_t pages_for(size_t n_tokens) { return static_cast<uint32_t>(kernels::pages_for(n_tokens)); }

}  // namespace

TextCache::TextCache(const plan::CacheConfig& config, bool recurrent, uint32_t window,
                     uint64_t host_bytes, Executor& executor)
    : executor_(executor),
      context_(config.context()),
      recurrent_(recurrent),
      window_(window),
      step_rows_(config.step_rows),
      pool_(config.n_pages, config.n_window_pages),
      prefixes_(pool_, {recurrent, window, config.n_snapshots, host_bytes,
                        patience_with(config.n_sequences)}),
      sequences_(config.n_sequences),
      n_users_(config.n_pages) {}

void TextCache::hold(uint32_t page) {
  if (n_users_[page]++ == 0) ++n_in_use_;
}

void TextCache::let_go(uint32_t page) {
  if (--n_users_[page] == 0) --n_in_use_;
  pool_.release(page);
}

void TextCache::add_page(Sequence& sequence, uint32_t page) {
  hold(page);
  if (sequence.pages.size() >= sequence.first_seen) pool_.windows().need(page);
  sequence.pages.push_back(page);
}

void TextCache::add_shared_page(Sequence& sequence, uint32_t page) {
  pool_.share(page);
  add_page(sequence, page);
}

void TextCache::replace_page(Sequence& sequence, size_t index, uint32_t page) {
  const uint32_t before = std::exchange(sequence.pages[index], page);
  pool_.share(page);
  hold(page);
  WindowSlots& windows = pool_.windows();
  if (!windows.has(page) && windows.has(before)) {
    // What others have lost, they have again, also where this text has passed it by now.
    windows.move(before, page);
  } else if (index >= sequence.first_seen) {
    windows.need(page);
    windows.unneed(before, Why::kPassed);
  } else if (windows.has(page)) {
    windows.need(page);
    windows.unneed(page, why_passed(sequence, index));
  }
  let_go(before);
}

// The window before the place where others part from a text is worth more than what it passes
// alone.
Why TextCache::why_passed(const Sequence& sequence, size_t index) const {
  const uint32_t branch = sequence.branch;
  const bool shared = index >= first_page_seen(branch, window_) && index < branch / kPage;
  return shared ? Why::kGoesOn : Why::kPassed;
}

void TextCache::drop_last_page(Sequence& sequence) {
  const uint32_t page = sequence.pages.back();
  sequence.pages.pop_back();
  if (sequence.pages.size() >= sequence.first_seen) pool_.windows().unneed(page, Why::kGoesOn);
  let_go(page);
}

uint32_t TextCache::n_window_available() const {
  const WindowSlots& windows = pool_.windows();
  return windows.apart() ? windows.n_slots() - windows.n_needed() : UINT32_MAX / 2;
}

uint32_t TextCache::n_window_free() const {
  const WindowSlots& windows = pool_.windows();
  return windows.apart() ? windows.n_free() + windows.n_passed() : UINT32_MAX / 2;
}

uint32_t TextCache::n_window_wanted(size_t n_tokens) const {
  if (!pool_.windows().apart()) return 0;
  return std::min(pages_for(n_tokens), n_window_pages_at_once(window_, step_rows_));
}

Result<void> TextCache::set_pages(uint32_t sequence, size_t first) const {
  const std::span<const uint32_t> pages = this->pages(sequence).subspan(first);
  std::vector<uint32_t> windows;
  if (pool_.windows().apart()) {
    for (const uint32_t page : pages) windows.push_back(pool_.windows().slot(page).value_or(0));
  }
  return executor_.set_pages(sequence, static_cast<uint32_t>(first), pages, windows);
}

Task<Result<uint32_t>> TextCache::take_page(bool with_window) {
  // Before anything is given up for it.
  if (with_window && n_window_available() == 0) {
    co_return base::fail(
        ErrorCode::kOutOfMemory,
        fmt::format("The cache is full: the texts under way need all of its {} pages of layers "
                    "with windows.",
                    pool_.windows().n_slots()));
  }
  const bool wants_more = pool_.n_free() == 0 || executor_.grows_with_use();
  while (wants_more && !pool_.has_used()) {
    const auto stale = prefixes_.stale();
    if (!stale) break;
    prefixes_.forget(*stale);
  }
  for (;;) {
    if (const auto page = pool_.take()) {
      if (with_window) {
        const bool given = pool_.windows().give(*page);
        PUNA_CHECK(given);
      }
      co_return *page;
    }
    const auto oldest = prefixes_.oldest();
    if (!oldest) {
      co_return base::fail(
          ErrorCode::kOutOfMemory,
          fmt::format("The cache is full: the texts under way have all of its {} pages of {} "
                      "tokens.",
                      pool_.n_pages(), kPage));
    }
    std::vector<std::byte> bytes;
    if (prefixes_.keeps_bytes(*oldest)) {
      const PagePlace place = place_of(*prefixes_.page(*oldest));
      const KeptBytes kept = executor_.kept_bytes();
      bytes.resize(static_cast<size_t>(kept.page + (place.window ? kept.window : 0)));
      PUNA_CO_TRY(co_await executor_.read_page(place, bytes));
    }
    prefixes_.leave(*oldest, std::move(bytes));
  }
}

Task<Result<uint32_t>> TextCache::resident_page(NodeId node) {
  if (const auto page = prefixes_.page(node)) co_return *page;
  PUNA_CO_TRY(const uint32_t page, co_await take_page(prefixes_.has_window(node)));
  PUNA_CO_TRY(executor_.write_page(place_of(page), prefixes_.come_back(node, page)));
  co_return page;
}

uint32_t TextCache::n_wanted(std::span<const int32_t> text) const {
  uint32_t n = pages_for(text.size() + 1);
  for (const NodeId node : prefixes_.path(prefixes_.find(text).node)) {
    const auto page = prefixes_.page(node);
    if (page && n_users_[*page] > 0) --n;
  }
  return n;
}

uint32_t TextCache::n_wanted(uint32_t index, uint32_t n_more) const {
  const Sequence& sequence = sequences_[index];
  const uint32_t n = pages_for(sequence.tokens.size() + n_more);
  const auto has = static_cast<uint32_t>(sequence.pages.size());
  return n > has ? n - has : 0;
}

uint32_t TextCache::n_known(std::span<const int32_t> text) const {
  return text.empty() ? 0 : prefixes_.find(text.first(text.size() - 1)).total();
}

Task<Result<void>> TextCache::begin(uint32_t index, std::vector<int32_t> text) {
  PUNA_CHECK(sequences_[index].pages.empty());
  for (;;) {
    const Prefixes::Found found = prefixes_.find(text);
    // What is on the way must not go while room is made for it.
    std::vector<NodeId> way = prefixes_.path(found.node);
    if (found.part != Prefixes::kRoot) way.push_back(found.part);
    for (const NodeId node : way) prefixes_.pin(node);
    // What layers with windows have of it must not go either.
    std::vector<uint32_t> needed;
    const uint32_t first_seen = first_page_seen(found.total(), window_);
    for (size_t i = first_seen; i < way.size(); ++i) {
      if (const auto page = prefixes_.page(way[i])) needed.push_back(*page);
    }
    for (const uint32_t page : needed) pool_.windows().need(page);
    auto begun = co_await begin_pinned(index, text, found);
    for (const uint32_t page : needed) pool_.windows().unneed(page, Why::kGoesOn);
    for (const NodeId node : way) prefixes_.unpin(node);
    if (begun) co_return begun;
    forget(index);
    if (begun.error().code != ErrorCode::kOutOfMemory || found.total() == 0) co_return begun;
    // A copy needs a page beside its original, and what is in host memory needs one too. Without
    // the last page of it, which is evaluated then, there is room for the rest.
    text.resize(found.n_part > 0 ? found.n_tokens : found.n_tokens - 1);
  }
}

Task<Result<void>> TextCache::begin_pinned(uint32_t index, const std::vector<int32_t>& text,
                                           const Prefixes::Found& found) {
  Sequence& sequence = sequences_[index];
  sequence.first_seen = first_page_seen(found.total(), window_);
  for (const NodeId node : prefixes_.path(found.node)) {
    PUNA_CO_TRY(const uint32_t page, co_await resident_page(node));
    add_shared_page(sequence, page);
  }
  prefixes_.pin(found.node);
  sequence.node = found.node;
  sequence.n_published = static_cast<uint32_t>(sequence.pages.size());
  if (found.part != Prefixes::kRoot) {
    PUNA_CO_TRY(const uint32_t theirs, co_await resident_page(found.part));
    const bool to_its_end = found.n_part == prefixes_.tokens(found.part).size();
    if (to_its_end && pool_.n_owners(theirs) == 1) {
      // Nobody else writes behind these tokens.
      add_shared_page(sequence, theirs);
    } else {
      // What was just brought back must not lose its slot to the copy.
      pool_.windows().need(theirs);
      auto mine = co_await take_page();
      pool_.windows().unneed(theirs, Why::kGoesOn);
      if (!mine) co_return std::unexpected(std::move(mine.error()));
      add_page(sequence, *mine);
      PUNA_CO_TRY(executor_.copy_page(place_of(theirs), place_of(*mine)));
    }
  }
  const NodeId last = found.part != Prefixes::kRoot ? found.part : found.node;
  if (recurrent_ && last != Prefixes::kRoot)
    PUNA_CO_TRY(executor_.restore_state(*prefixes_.state(last), index));
  // Where a text parts from another one, the other one is not come back to.
  const bool parts = last != found.node && found.n_part < prefixes_.tokens(last).size();
  prefixes_.come_back_to(parts ? found.node : last);
  sequence.tokens.assign(text.begin(), text.begin() + found.total());
  sequence.branch = found.n_alike / kPage * kPage;
  if (sequence.branch <= sequence.tokens.size()) sequence.branch = 0;
  co_return set_pages(index, 0);
}

Task<Result<void>> TextCache::make_room(uint32_t index, uint32_t n_tokens) {
  Sequence& sequence = sequences_[index];
  if (n_tokens > context_) {
    co_return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The sequence needs {} tokens, but the context holds {}.", n_tokens, context_));
  }
  const size_t first = sequence.pages.size();
  while (sequence.pages.size() < pages_for(n_tokens)) {
    auto page = co_await take_page();
    if (!page) {
      trim(index);
      co_return std::unexpected(std::move(page.error()));
    }
    add_page(sequence, *page);
  }
  if (first < sequence.pages.size()) co_return set_pages(index, first);
  co_return {};
}

void TextCache::trim(uint32_t index) {
  Sequence& sequence = sequences_[index];
  while (sequence.pages.size() > pages_for(sequence.tokens.size())) drop_last_page(sequence);
}

void TextCache::append(uint32_t index, std::span<const int32_t> tokens) {
  Sequence& sequence = sequences_[index];
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  PUNA_CHECK(pages_for(sequence.tokens.size()) <= sequence.pages.size());
  const uint32_t first_seen = first_page_seen(n_tokens(index), window_);
  for (; sequence.first_seen < first_seen; ++sequence.first_seen) {
    const uint32_t i = sequence.first_seen;
    pool_.windows().unneed(sequence.pages[i], why_passed(sequence, i));
  }
}

Result<void> TextCache::publish(uint32_t index) {
  Sequence& sequence = sequences_[index];
  size_t changed = sequence.pages.size();
  while (size_t{sequence.n_published + 1} * kPage <= sequence.tokens.size()) {
    const uint32_t i = sequence.n_published;
    const NodeId node =
        prefixes_.add(sequence.node, std::span(sequence.tokens).subspan(size_t{i} * kPage, kPage),
                      sequence.pages[i]);
    prefixes_.pin(node);
    prefixes_.unpin(sequence.node);
    sequence.node = node;
    ++sequence.n_published;
    const auto theirs = prefixes_.page(node);
    if (!theirs) {
      pool_.share(sequence.pages[i]);
      prefixes_.come_back(node, sequence.pages[i]);
    } else if (*theirs != sequence.pages[i]) {
      // Another text has come to the same page meanwhile; one is enough.
      replace_page(sequence, i, *theirs);
      changed = std::min<size_t>(changed, i);
    }
  }
  if (changed < sequence.pages.size()) return set_pages(index, changed);
  return {};
}

Result<void> TextCache::keep(uint32_t index) {
  PUNA_TRY(publish(index));
  Sequence& sequence = sequences_[index];
  const uint32_t n_whole = sequence.n_published * kPage;
  NodeId node = sequence.node;
  if (n_whole < sequence.tokens.size()) {
    node = prefixes_.add(sequence.node, std::span(sequence.tokens).subspan(n_whole),
                         sequence.pages[sequence.n_published]);
  }
  if (!recurrent_ || node == Prefixes::kRoot || prefixes_.state(node)) return {};
  prefixes_.pin(node);
  const auto slot = prefixes_.keep_state(node);
  prefixes_.unpin(node);
  if (!slot) return {};
  return executor_.save_state(index, *slot);
}

Result<void> TextCache::end(uint32_t index) {
  auto kept = keep(index);
  prefixes_.end_text(sequences_[index].node);
  forget(index);
  return kept;
}

void TextCache::forget(uint32_t index) {
  Sequence& sequence = sequences_[index];
  prefixes_.unpin(sequence.node);
  while (!sequence.pages.empty()) drop_last_page(sequence);
  sequence = {};
}

}  // namespace puna::engine
