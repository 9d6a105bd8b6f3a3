// Regular expressions over bytes, as a graph of nodes that are made once each (equal expressions
// have equal ids) and are in a normal form, so that derivatives of one expression are few.
// Read next: derivative.h, lexeme.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/regex/char_set.h"

namespace puna::grammar {

// A set of bytes.
class ByteSet {
 public:
  constexpr ByteSet() = default;
  static constexpr ByteSet range(uint8_t low, uint8_t high) {
    ByteSet out;
    for (uint32_t byte = low; byte <= high; ++byte) out.add(static_cast<uint8_t>(byte));
    return out;
  }
  constexpr void add(uint8_t byte) { words_[byte / 64] |= uint64_t{1} << byte % 64; }
  constexpr bool contains(uint8_t byte) const { return (words_[byte / 64] >> byte % 64 & 1) != 0; }
  constexpr bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  uint32_t size() const;
  ByteSet& operator|=(const ByteSet& other);
  ByteSet& operator&=(const ByteSet& other);
  bool operator==(const ByteSet&) const = default;
  const std::array<uint64_t, 4>& words() const { return words_; }

 private:
  std::array<uint64_t, 4> words_{};
};

inline constexpr uint32_t kUnbounded = 0xFFFFFFFF;  // as a number of repetitions

// An expression of an Expressions; equal ones have equal ids.
struct Expression {
  uint32_t id = 0;
  bool operator==(const Expression&) const = default;
};

// A state of an automaton that is given as such: where each byte leads; the sets of the edges have
// no byte in common, and a byte of none leads nowhere.
struct AutomatonState {
  struct Edge {
    ByteSet bytes;
    uint32_t to = 0;
  };
  bool accepts = false;
  std::vector<Edge> next{};
};

// What becomes of the counter of a text as it takes one byte more: it stays, is one more, or is 1.
enum class CounterStep : uint8_t { kSame, kNext, kFirst };

// What is made here stays as long as the object does. Handles of one object mean nothing to
// another. Not for several threads at once.
class Expressions {
 public:
  Expressions();

  Expression nothing() const { return {0}; }  // matches no text
  Expression empty() const { return {1}; }    // matches the empty text only
  Expression bytes(const ByteSet& set);       // one byte of the set
  Expression literal(std::string_view bytes);
  // One of these texts. As choice() of literal()s, but quick for thousands.
  Expression literals(std::vector<std::string> texts);
  // One character of the set as UTF-8; surrogates are no characters.
  Expression characters(const tokenizer::CharSet& set);
  Expression any_character();  // of UTF-8, line ends too
  Expression sequence(std::span<const Expression> parts);
  Expression sequence(std::initializer_list<Expression> parts) {
    return sequence(std::span(parts.begin(), parts.size()));
  }
  Expression choice(std::span<const Expression> parts);
  Expression choice(std::initializer_list<Expression> parts) {
    return choice(std::span(parts.begin(), parts.size()));
  }
  // `part`, least to most times (kUnbounded: without end); least <= most. A count costs no states
  // where it can be told from the text alone how often the part was passed: the characters of a
  // string before its quote, but not [a-z]{0,200}a.
  Expression repeat(Expression part, uint32_t least, uint32_t most);
  Expression optional(Expression part) { return repeat(part, 0, 1); }
  // What both match. Counts inside cost states.
  Expression both(Expression a, Expression b);
  // What `a` matches and `b` does not. Counts inside cost states.
  Expression without(Expression a, Expression b) { return both(a, complement(b)); }
  // Every text of bytes that `part` does not match, texts that are no UTF-8 too: use it in both().
  Expression complement(Expression part);

  // What such an automaton accepts from the state `start` on.
  Expression automaton(std::span<const AutomatonState> states, uint32_t start);
  // `part` with each byte as the texts of an expression. No such text, of any byte, is empty or the
  // beginning of another, so that what complements leave can be told from what is written.
  Expression substitute(Expression part, std::span<const Expression, 256> with);

  bool is_nothing(Expression e) const { return e.id == 0; }
  // Whether the empty text matches.
  bool nullable(Expression e) const { return nodes_[e.id].nullable; }
  size_t n_nodes() const { return nodes_.size(); }
  // What an expression is made of, where rules can be made of the same.
  struct Split {
    enum class Kind : uint8_t { kWhole, kSequence, kChoice, kRepeat };
    Kind kind = Kind::kWhole;         // kWhole: it cannot be taken apart
    std::vector<Expression> parts{};  // two of a sequence, each half of it
    uint32_t least = 0, most = 0;
  };
  Split split(Expression e);
  // A sequence of which one part has to match a repetition and something else, as texts of a
  // pattern and of a length do.
  struct LengthBound {
    Expression texts{};    // the same without the repetition
    Expression counted{};  // the same with any number of `one` in place of both
    Expression before{}, one{}, behind{};
    uint32_t least = 0, most = 0;
  };
  std::optional<LengthBound> length_bound(Expression e);

 private:
  friend class Derivatives;
  enum class Kind : uint8_t {
    kNothing,
    kEmpty,
    kBytes,       // one of sets_[a]
    kSequence,    // a, then b; a is no sequence
    kChoice,      // one of parts_[a] to parts_[b - 1], at least two in order of their ids
    kBoth,        // what all of these match
    kComplement,  // what a does not match
    kRepeat,      // a, least to most times
    kAutomaton,   // from states_[a] on
    kCounted,     // the same, where some repetitions are behind; see derivative.h
  };
  static constexpr uint32_t kNone = 0, kSeveral = kUnbounded;  // where ids of nodes stand
  struct Node {
    Kind kind = Kind::kNothing;
    bool nullable = false;   // of kCounted: not said here
    bool has_logic = false;  // kBoth or kComplement in it
    uint8_t steps = 0;       // a bit for each CounterStep of the kCounted in it
    uint32_t a = 0, b = 0;
    uint32_t least = 0, most = 0;
    uint32_t counted = kNone;  // the kRepeat that the kCounted in it come from; kSeveral
    CounterStep step{};        // of kCounted
  };

  Expression add(Node node, std::span<const uint32_t> parts = {});
  Expression pair(Expression first, Expression rest);
  Expression counted(Expression repeated, CounterStep step);
  Expression many(Kind kind, std::vector<uint32_t>& parts);
  Expression trie(std::span<const std::string> texts, size_t at);
  Expression encoded(std::span<const tokenizer::CharSet::Range> ranges, uint32_t tail,
                     uint8_t mark);
  static void take_over(Node& node, const Node& part);
  std::span<const uint32_t> parts(const Node& node) const {
    return std::span(parts_).subspan(node.a, node.b - node.a);
  }
  bool same(uint32_t id, const Node& node, std::span<const uint32_t> parts) const;
  void grow_table();

  std::vector<Node> nodes_;
  std::vector<uint32_t> parts_;
  std::vector<ByteSet> sets_;
  std::vector<AutomatonState> states_;                  // `to`: ids of nodes
  std::unordered_map<std::string, uint32_t> automata_;  // node of the first state, by what it is of
  std::vector<uint64_t> hashes_;                        // of nodes_
  std::vector<uint32_t> table_;                         // of ids by hash, kSeveral: free
};

}  // namespace puna::grammar
