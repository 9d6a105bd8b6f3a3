// TextCache: which pages, tokens and recurrent state each sequence has, and what is kept of texts
// that have ended (prefixes.h). A sequence is a row of the page table and a slot of recurrent
// states: what a running text has. All pages are one pool; what running texts leave of it holds
// ended ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/executor.h"
#include "engine/kv_pool.h"
#include "engine/prefixes.h"
#include "plan/step.h"

namespace puna::engine {

class TextCache {
 public:
  // `recurrent`: the model has states of config.n_snapshots. `window`: of its layers with windows,
  // the widest. host_bytes: as of Prefixes::Options.
  TextCache(const plan::CacheConfig& config, bool recurrent, uint32_t window, uint64_t host_bytes,
            Executor& executor);

  uint32_t n_sequences() const { return static_cast<uint32_t>(sequences_.size()); }
  // What a sequence holds: keys and values of these tokens, and the state after the last.
  std::span<const int32_t> tokens(uint32_t sequence) const { return sequences_[sequence].tokens; }
  uint32_t n_tokens(uint32_t sequence) const {
    return static_cast<uint32_t>(sequences_[sequence].tokens.size());
  }
  // Pages that running texts do not have, and that they could get; of these, those with nothing of
  // ended texts in them.
  uint32_t n_available() const { return pool_.n_pages() - n_in_use_; }
  uint32_t n_free() const { return pool_.n_free(); }
  // The same of pages of layers with windows, where they are apart; else more than anybody wants.
  // Those that texts have passed hold nothing that is missed, so they count as free.
  uint32_t n_window_available() const;
  uint32_t n_window_free() const;
  uint32_t n_pages() const { return pool_.n_pages(); }
  // Pages that a text which is about to begin would have, but for those that running texts have
  // already; that a sequence needs for so many tokens more.
  uint32_t n_wanted(std::span<const int32_t> text) const;
  uint32_t n_wanted(uint32_t sequence, uint32_t n_more) const;
  // At most, of pages of layers with windows: that a text of so many tokens needs at once.
  uint32_t n_window_wanted(size_t n_tokens) const;
  const Prefixes& prefixes() const { return prefixes_; }
  const WindowSlots& windows() const { return pool_.windows(); }

  // Of a text that would begin now: how many of its tokens, but for the last, are known.
  uint32_t n_known(std::span<const int32_t> text) const;
  // Gives an empty sequence what is known of the beginning of a text: pages that it shares with
  // other texts, and a copy of the one in which they part. Errors: those of the device.
  base::Task<base::Result<void>> begin(uint32_t sequence, std::vector<int32_t> text);
  // Where a recurrent state, or the window before it, would pay for texts like the one that began:
  // others share that much of it. 0: nowhere.
  uint32_t branch(uint32_t sequence) const { return sequences_[sequence].branch; }

  // Makes room for n_tokens in all, in pages that this sequence may write. Errors:
  // kInvalidArgument above the context; kOutOfMemory when running texts have all pages, and the
  // sequence keeps what it had; those of the device.
  base::Task<base::Result<void>> make_room(uint32_t sequence, uint32_t n_tokens);
  // Gives back pages beyond its tokens.
  void trim(uint32_t sequence);
  // These have been evaluated behind what it holds.
  void append(uint32_t sequence, std::span<const int32_t> tokens);
  // Lets other texts go on with its whole pages, from now on.
  base::Result<void> publish(uint32_t sequence);
  // Lets them go on from just here: publishes, and keeps a copy of recurrent states.
  base::Result<void> keep(uint32_t sequence);
  // The text has ended: what the sequence holds is kept for others, and the sequence is empty.
  base::Result<void> end(uint32_t sequence);
  // The same, but nothing more of it is kept.
  void forget(uint32_t sequence);
  // Of a text that has ended: its end is known no more, from token `first` on, but for what other
  // texts have in common with it (Prefixes::forget_end). Not beside begin() and its like.
  void forget_text(std::span<const int32_t> text, uint32_t first) {
    prefixes_.forget_end(text, first);
  }

  // The pages that a sequence has, in the order of its tokens; some may hold none yet.
  std::span<const uint32_t> pages(uint32_t sequence) const { return sequences_[sequence].pages; }
  PagePlace place_of(uint32_t page) const { return {page, pool_.windows().slot(page)}; }
  // The page of a node, on the device: brought back if need be. Errors: kOutOfMemory.
  base::Task<base::Result<uint32_t>> resident_page(Prefixes::NodeId node);
  // For what fills pages and states by itself (saved_prefix.h).
  Prefixes& prefixes() { return prefixes_; }

 private:
  struct Sequence {
    std::vector<int32_t> tokens;
    std::vector<uint32_t> pages;
    Prefixes::NodeId node = Prefixes::kRoot;  // of the last of its pages that others may use
    uint32_t n_published = 0;                 // pages up to that
    uint32_t first_seen = 0;                  // pages before it lie behind all windows
    uint32_t branch = 0;                      // see branch()
  };

  // A page that the caller owns, also of layers with windows where that is asked for; what is kept
  // of ended texts goes for it, from the oldest on.
  base::Task<base::Result<uint32_t>> take_page(bool with_window = true);
  // A sequence has a page more, at its end, which it owns; the same beside other owners.
  void add_page(Sequence& sequence, uint32_t page);
  void add_shared_page(Sequence& sequence, uint32_t page);
  // A page of a sequence is another one with the same content.
  void replace_page(Sequence& sequence, size_t index, uint32_t page);
  void drop_last_page(Sequence& sequence);
  // Of a page that a sequence has passed.
  WindowSlots::Why why_passed(const Sequence& sequence, size_t index) const;
  void hold(uint32_t page);
  void let_go(uint32_t page);
  base::Task<base::Result<void>> begin_pinned(uint32_t index, const std::vector<int32_t>& text,
                                              const Prefixes::Found& found);
  base::Result<void> set_pages(uint32_t sequence, size_t first) const;

  Executor& executor_;
  uint32_t context_;
  bool recurrent_;
  uint32_t window_;
  uint32_t step_rows_;
  KvPool pool_;
  Prefixes prefixes_;
  std::vector<Sequence> sequences_;
  std::vector<uint32_t> n_users_;  // by page: sequences that have it
  uint32_t n_in_use_ = 0;          // pages with any
};

}  // namespace puna::engine
