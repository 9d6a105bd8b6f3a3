// Masks: which tokens may follow inside one lexeme, for each state of its automaton, kept for all
// texts of a model. What goes on behind the end of the lexeme depends on the rules around it, and
// is kept as the few tokens that could. Read next: matcher.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/rules.h"
#include "grammar/token_trie.h"
#include "grammar/vocabulary.h"

namespace puna::grammar {

// Of a lexeme that is in one state, with any count.
class LexemeMask {
 public:
  LexemeMask(const GrammarVocabulary& vocabulary, const Grammar::LexemeUse& use, uint32_t state);

  // Adds a bit for each token all of which is in the lexeme, or ends just where it may end.
  void add_inside(uint32_t count, std::span<uint32_t> bits) const;
  // What is left, behind an end of the lexeme, of tokens that go on there.
  const TokenTrie& after() const { return after_; }
  size_t size_bytes() const;

 private:
  struct Bound {
    uint32_t at, id;
  };
  static void sort_bounds(std::vector<Bound>& bounds);

  std::vector<uint32_t> bits_;   // of all that are inside for some count; none where they are few:
  std::vector<uint32_t> ids_;    // then these
  std::vector<Bound> at_most_;   // tokens whose count may be no more than `at`, in that order
  std::vector<Bound> at_least_;  // no less
  TokenTrie after_;
};

// May be shared by threads.
class Masks {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;

  explicit Masks(std::shared_ptr<const GrammarVocabulary> vocabulary,
                 size_t most_bytes = kMostBytes)
      : vocabulary_(std::move(vocabulary)), most_bytes_(most_bytes) {}

  const GrammarVocabulary& vocabulary() const { return *vocabulary_; }
  std::shared_ptr<const LexemeMask> get(const Grammar::LexemeUse& use, uint32_t state);
  // Which tokens of LexemeMask::after() may follow, by what they depend on.
  struct BehindKey {
    std::array<uint64_t, 2> lexeme{};
    uint32_t state = 0, count = 0;
    uint64_t column = 0;  // Chart::hash of the column at which the lexeme ends
    bool operator==(const BehindKey&) const = default;
  };
  using Ids = std::shared_ptr<const std::vector<uint32_t>>;
  Ids find_behind(const BehindKey& key) const;  // null where it is not known
  Ids keep_behind(const BehindKey& key, std::vector<uint32_t> ids);
  // Makes the masks of those states that are dear and likely: in which a text may go on for long.
  void warm(const Grammar& grammar);
  size_t size_bytes() const;

 private:
  struct Key {
    std::array<uint64_t, 2> lexeme;
    uint32_t state;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.lexeme[0] + key.state) * 0x9E3779B97F4A7C15);
    }
    size_t operator()(const BehindKey& key) const {
      return static_cast<size_t>((key.column ^ (key.lexeme[0] + key.state + key.count)) *
                                 0x9E3779B97F4A7C15);
    }
  };
  struct Entry {
    std::shared_ptr<const LexemeMask> mask;
    uint64_t used = 0;
  };
  void make_room();

  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  size_t most_bytes_;
  // Guards what follows.
  mutable std::mutex mutex_;
  std::unordered_map<Key, Entry, Hash> entries_;
  std::unordered_map<BehindKey, Ids, Hash> behind_;
  size_t bytes_ = 0;  // of both
  uint64_t clock_ = 0;
};

}  // namespace puna::grammar
