// From the tree of an expression to the steps that a matcher takes.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tokenizer/regex/node.h"
#include "tokenizer/regex/regex.h"

namespace puna::tokenizer {

namespace {

using regex::Node;
using Kind = Node::Kind;

// Nodes that may be written, those under a counted repeat as often as it repeats them.
constexpr size_t kMostParts = 100000;
constexpr uint32_t kLongestBehind = 255;  // characters that a look-behind may go back

// How many characters a node matches.
struct Length {
  uint64_t least, most;
};
constexpr uint64_t kEndless = 1u << 30;

Length length_of(const Node& node) {
  switch (node.kind) {
    case Kind::kSet:
      return {1, 1};
    case Kind::kBackReference:
      return {0, kEndless};
    case Kind::kSequence:
    case Kind::kCapture:
    case Kind::kAtomic: {
      Length sum{0, 0};
      for (const Node& child : node.children) {
        const Length one = length_of(child);
        sum = {std::min(sum.least + one.least, kEndless), std::min(sum.most + one.most, kEndless)};
      }
      return sum;
    }
    case Kind::kAlternatives: {
      Length either{kEndless, 0};
      for (const Node& child : node.children) {
        const Length one = length_of(child);
        either = {std::min(either.least, one.least), std::max(either.most, one.most)};
      }
      return either;
    }
    case Kind::kRepeat: {
      const Length one = length_of(node.children[0]);
      return {std::min(one.least * node.least, kEndless), std::min(one.most * node.most, kEndless)};
    }
    default:
      return {0, 0};
  }
}

}  // namespace

class RegexCompiler {
 public:
  using Step = Regex::Step;

  explicit RegexCompiler(std::string_view expression) : expression_(expression) {}

  base::Result<Regex> run() {
    PUNA_TRY(const regex::Parsed parsed, regex::parse(expression_));
    keep_captures_ = parsed.has_back_references;
    if (keep_captures_) out_.n_registers_ = 2 * (parsed.n_groups + 1);
    PUNA_TRY(node(parsed.root));
    emit({Step::kAccept});
    return std::move(out_);
  }

 private:
  std::unexpected<base::Error> wrong(std::string_view what) const {
    return regex::unsupported(expression_, what);
  }
  uint32_t here() const { return static_cast<uint32_t>(out_.steps_.size()); }
  uint32_t emit(Step step) {
    out_.steps_.push_back(step);
    return here() - 1;
  }
  // Of a set of the tree, whose copies are one.
  uint32_t set_index(const CharSet& set) {
    const auto [known, is_new] = indices_.try_emplace(&set);
    if (is_new) known->second = add_set(set);
    return known->second;
  }
  uint32_t add_set(const CharSet& set) {
    Regex::Set one;
    one.set = set;
    for (char32_t c = 0; c < 128; ++c) {
      if (set.contains(c)) one.ascii[c / 64] |= uint64_t{1} << (c % 64);
    }
    out_.sets_.push_back(std::move(one));
    return static_cast<uint32_t>(out_.sets_.size() - 1);
  }

  base::Result<void> node(const Node& one) {
    if (++n_parts_ > kMostParts)
      return wrong("more than 100000 parts once its repeats are written out");
    switch (one.kind) {
      case Kind::kEmpty:
        return {};
      case Kind::kSet:
        emit({.op = Step::kSet, .a = set_index(one.set)});
        return {};
      case Kind::kSequence:
        for (const Node& child : one.children) PUNA_TRY(node(child));
        return {};
      case Kind::kAlternatives:
        return alternatives(one);
      case Kind::kRepeat:
        return repeat(one);
      case Kind::kCapture:
        if (keep_captures_) emit({.op = Step::kSave, .a = 2 * one.group});
        PUNA_TRY(node(one.children[0]));
        if (keep_captures_) emit({.op = Step::kSave, .a = 2 * one.group + 1});
        return {};
      case Kind::kBackReference:
        emit({.op = Step::kBackReference, .a = 2 * one.group});
        return {};
      case Kind::kAtomic:
        return inner({.op = Step::kAtomic}, [&] { return node(one.children[0]); });
      case Kind::kLook:
        return look(one);
      case Kind::kLineBegin:
        return condition(Step::kLineBegin, one);
      case Kind::kLineEnd:
        return condition(Step::kLineEnd, one);
      case Kind::kTextBegin:
        return condition(Step::kTextBegin, one);
      case Kind::kTextEnd:
        return condition(Step::kTextEnd, one);
      case Kind::kTextEndOrLine:
        return condition(Step::kTextEndOrLine, one);
      case Kind::kWordEdge:
        if (word_set_ == kNone) word_set_ = add_set(*CharSet::named("escape:w"));
        emit({.op = Step::kWordEdge, .negated = one.negated, .a = word_set_});
        return {};
      case Kind::kSearchBegin:
        return condition(Step::kSearchBegin, one);
    }
    return {};
  }

  base::Result<void> condition(Step::Op op, const Node& one) {
    emit({.op = op, .negated = one.negated});
    return {};
  }

  base::Result<void> alternatives(const Node& one) {
    std::vector<uint32_t> jumps;
    for (size_t i = 0; i < one.children.size(); ++i) {
      const bool last = i + 1 == one.children.size();
      const uint32_t fork = last ? 0 : emit({.op = Step::kFork, .a = here() + 1});
      PUNA_TRY(node(one.children[i]));
      if (last) continue;
      jumps.push_back(emit({.op = Step::kJump}));
      out_.steps_[fork].b = here();
    }
    for (const uint32_t jump : jumps) out_.steps_[jump].a = here();
    return {};
  }

  // The steps that body() writes, behind `step` and with an end of their own.
  template <class Body>
  base::Result<void> inner(Step step, Body&& body) {
    const uint32_t at = emit(step);
    PUNA_TRY(body());
    emit({.op = Step::kAccept});
    out_.steps_[at].a = here();
    return {};
  }

  base::Result<void> look(const Node& one) {
    Step step{.op = Step::kLook, .negated = one.negated, .behind = one.behind};
    if (one.behind) {
      const Length length = length_of(one.children[0]);
      if (length.most > kLongestBehind) return wrong("a look-behind of more than 255 characters");
      step.b = static_cast<uint32_t>(length.least);
      step.c = static_cast<uint32_t>(length.most);
    }
    return inner(step, [&] { return node(one.children[0]); });
  }

  base::Result<void> repeat(const Node& one) {
    const Node& body = one.children[0];
    if (body.kind == Kind::kSet) {
      emit({.op = Step::kRepeatSet,
            .greed = static_cast<uint8_t>(one.greed),
            .a = set_index(body.set),
            .b = one.least,
            .c = one.most});
      return {};
    }
    if (one.greed == Node::Greed::kPossessive)
      return inner({.op = Step::kAtomic}, [&] { return written_out(one, /*lazy=*/false); });
    return written_out(one, one.greed == Node::Greed::kLazy);
  }

  base::Result<void> written_out(const Node& one, bool lazy) {
    const Node& body = one.children[0];
    for (uint32_t i = 0; i < one.least; ++i) PUNA_TRY(node(body));
    if (one.most == Node::kUnbounded) return endless(body, lazy);
    std::vector<uint32_t> forks;
    for (uint32_t i = one.least; i < one.most; ++i) {
      forks.push_back(emit({.op = Step::kFork}));
      set_fork(forks.back(), here(), 0, lazy);
      PUNA_TRY(node(body));
    }
    for (const uint32_t fork : forks) {
      const uint32_t into = fork + 1;
      set_fork(fork, into, here(), lazy);
    }
    return {};
  }

  base::Result<void> endless(const Node& body, bool lazy) {
    const uint32_t fork = emit({.op = Step::kFork});
    const bool guard = length_of(body).least == 0;
    uint32_t place = 0;
    if (guard) {
      place = out_.n_registers_++;
      emit({.op = Step::kSave, .a = place});
    }
    PUNA_TRY(node(body));
    uint32_t guarded = 0;
    if (guard) guarded = emit({.op = Step::kLoopGuard, .a = place});
    emit({.op = Step::kJump, .a = fork});
    if (guard) out_.steps_[guarded].b = here();
    set_fork(fork, fork + 1, here(), lazy);
    return {};
  }
  void set_fork(uint32_t fork, uint32_t into, uint32_t past, bool lazy) {
    out_.steps_[fork].a = lazy ? past : into;
    out_.steps_[fork].b = lazy ? into : past;
  }

  static constexpr uint32_t kNone = 0xFFFFFFFF;
  std::string_view expression_;
  bool keep_captures_ = false;
  size_t n_parts_ = 0;
  std::unordered_map<const CharSet*, uint32_t> indices_;
  uint32_t word_set_ = kNone;
  Regex out_;
};

base::Result<Regex> Regex::compile(std::string_view expression) {
  return RegexCompiler(expression).run();
}

}  // namespace puna::tokenizer
