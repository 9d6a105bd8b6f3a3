// Matcher: one text that keeps to a grammar, token by token. It has the shape of the engine's
// filters, and knows none of the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grammar/masks.h"
#include "grammar/reading.h"

namespace puna::grammar {

class Matcher {
 public:
  Matcher(std::shared_ptr<const Grammar> grammar, std::shared_ptr<Masks> masks);

  // A bit for each token of the vocabulary, the lowest id in the lowest bit of the first word; end
  // tokens where the text fits as it is. As it was until the next take() or undo().
  std::span<const uint32_t> allowed();
  // The tokens that have to come next, as the model would write them, one after the other; empty
  // where there is a choice, or where a longer token would leave one.
  std::vector<int32_t> forced();
  // Behind a token that is not allowed, none is.
  void take(int32_t id);
  // Takes back the last n tokens that were taken.
  void undo(uint32_t n);
  // Another text that goes on from here.
  std::unique_ptr<Matcher> fork() const;
  // Whether the text fits as it is; whether nothing may follow it, but an end token.
  bool may_end() const;
  bool done() const;
  // Why nothing is allowed, where that is not for what the grammar says: a limit of it that the
  // text has come to. The text may not end then.
  std::optional<base::Error> error() const { return reading_.over_limit(); }

  uint32_t n_taken() const { return static_cast<uint32_t>(taken_.size()); }
  size_t size_bytes() const;

 private:
  enum class End : uint8_t { kOpen, kEnded, kLost };
  struct Taken {
    uint32_t n_frames;  // of the reading before it
    End end;            // before it
    bool over_limit;    // likewise
  };
  void add_runs(std::span<uint32_t> bits);
  void add_behind(const Grammar::LexemeUse& use, LexemePlace place, const TokenTrie& trie,
                  std::span<uint32_t> bits);
  std::vector<uint32_t> ids_behind(const TokenTrie& trie, uint32_t count);
  std::optional<uint8_t> only_byte() const;

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<Masks> masks_;
  Reading reading_;
  End end_ = End::kOpen;
  std::vector<Taken> taken_;
  std::vector<uint32_t> bits_;
  bool bits_known_ = false;
  std::vector<LexemeRun> bits_of_;  // the runs that bits_ are of, sorted
  bool bits_complete_ = false;
  std::vector<LexemeRun> runs_;  // of one mask
};

}  // namespace puna::grammar
