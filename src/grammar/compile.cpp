#include "grammar/compile.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::grammar {

namespace {

using Parts = Builder::Parts;

uint64_t mix(uint64_t hash, uint64_t value, uint64_t factor) {
  hash = (hash ^ value) * factor;
  return hash ^ hash >> 31;
}

}  // namespace

class GrammarCompiler {
 public:
  explicit GrammarCompiler(Parts& parts) : parts_(parts) { out_.limits_ = parts.limits; }

  base::Result<std::shared_ptr<const Grammar>> compile(Symbol start) {
    PUNA_TRY(reach(start.id));
    PUNA_TRY(compile_lexemes());
    find_nullable_and_productive();
    for (const Parts::Need& need : parts_.needs) {
      const bool used = std::ranges::find(reached_, need.node) != reached_.end();
      if (used && !productive_[need.node])
        return base::fail(base::ErrorCode::kInvalidArgument, need.what);
    }
    if (!productive_[start.id]) {
      return base::fail(base::ErrorCode::kInvalidArgument, "No text at all fits the grammar.");
    }
    PUNA_TRY(parts_.deadline.check());
    PUNA_TRY(make_rules(start.id));
    PUNA_TRY(find_follow());
    fingerprint();
    return std::make_shared<const Grammar>(std::move(out_));
  }

 private:
  const Parts::Node& node(uint32_t id) const { return parts_.nodes[id]; }

  // Those that the start needs, in the order in which they are found.
  base::Result<void> reach(uint32_t start) {
    std::vector<bool> seen(parts_.nodes.size());
    reached_.push_back(start);
    seen[start] = true;
    for (size_t i = 0; i < reached_.size(); ++i) {
      const Parts::Node& at = node(reached_[i]);
      if (at.kind == Parts::Kind::kDeclared && at.parts.empty()) {
        return base::fail(base::ErrorCode::kInvalidArgument,
                          fmt::format("Rule \"{}\" is used, but not defined.", at.name));
      }
      for (const uint32_t part : at.parts) {
        if (!seen[part]) reached_.push_back(part);
        seen[part] = true;
      }
    }
    return {};
  }

  base::Result<void> compile_lexemes() {
    Derivatives derivatives(parts_.expressions);
    // Those that are taken apart add others behind.
    for (size_t i = 0; i < reached_.size(); ++i) {
      if (node(reached_[i]).kind != Parts::Kind::kLexeme) continue;
      const uint32_t index = node(reached_[i]).lexeme;
      const Parts::LexemeName named = parts_.lexemes[index];
      bool too_many_states = false;
      auto lexeme = Lexeme::compile(derivatives, named.expression, named.name, parts_.limits,
                                    parts_.deadline, too_many_states);
      if (!lexeme && too_many_states && take_apart(reached_[i], named)) continue;
      if (!lexeme) return std::unexpected(std::move(lexeme.error()));
      lexeme_ids_.resize(parts_.lexemes.size(), Grammar::kNothing);
      lexeme_ids_[index] = static_cast<uint32_t>(out_.lexemes_.size());
      out_.lexemes_.push_back({*std::move(lexeme), {}, {}});
    }
    return {};
  }

  // A lexeme whose automaton is too large becomes rules over its parts: all ways through it are
  // then followed beside each other, instead of having a state for each set of ways.
  bool take_apart(uint32_t id, const Parts::LexemeName& named) {
    using Split = Expressions::Split;
    const Split split = parts_.expressions.split(named.expression);
    if (split.kind == Split::Kind::kWhole) return false;
    std::vector<uint32_t> inner;
    for (const Expression part : split.parts) {
      inner.push_back(parts_.lexeme(part, named.name).id);
      reached_.push_back(inner.back());
    }
    Parts::Node& at = parts_.nodes[id];
    at.kind = split.kind == Split::Kind::kSequence ? Parts::Kind::kSequence
              : split.kind == Split::Kind::kChoice ? Parts::Kind::kChoice
                                                   : Parts::Kind::kRepeat;
    at.parts = std::move(inner);
    at.least = split.least;
    at.most = split.most;
    return true;
  }

  const Lexeme& lexeme_of(uint32_t id) const {
    return out_.lexemes_[lexeme_ids_[node(id).lexeme]].lexeme;
  }

  // Each node waits for those in it, and is looked at again as they change.
  void find_nullable_and_productive() {
    nullable_.assign(parts_.nodes.size(), false);
    productive_.assign(parts_.nodes.size(), false);
    std::vector<std::vector<uint32_t>> users(parts_.nodes.size());
    for (const uint32_t id : reached_) {
      for (const uint32_t part : node(id).parts) users[part].push_back(id);
    }
    std::vector<uint32_t> open(reached_.rbegin(), reached_.rend());
    while (!open.empty()) {
      const uint32_t id = open.back();
      open.pop_back();
      const Parts::Node& at = node(id);
      const auto every = [&](const std::vector<bool>& of) {
        return std::ranges::all_of(at.parts, [&](uint32_t part) { return of[part]; });
      };
      const auto some = [&](const std::vector<bool>& of) {
        return std::ranges::any_of(at.parts, [&](uint32_t part) { return of[part]; });
      };
      bool nullable = false, productive = false;
      switch (at.kind) {
        case Parts::Kind::kLexeme:
          nullable = lexeme_of(id).nullable();
          productive = !lexeme_of(id).matches_nothing();
          break;
        case Parts::Kind::kSequence:
        case Parts::Kind::kDeclared:
          nullable = every(nullable_);
          productive = every(productive_);
          break;
        case Parts::Kind::kChoice:
          nullable = some(nullable_);
          productive = some(productive_);
          break;
        case Parts::Kind::kRepeat:
          nullable = at.least == 0 || every(nullable_);
          productive = at.least == 0 || every(productive_);
          break;
      }
      if (nullable == nullable_[id] && productive == productive_[id]) continue;
      nullable_[id] = nullable;
      productive_[id] = productive;
      open.insert(open.end(), users[id].begin(), users[id].end());
    }
  }

  // A name stands for what it is defined as. One that is defined as itself is not productive.
  uint32_t resolved(uint32_t id) const {
    while (node(id).kind == Parts::Kind::kDeclared) id = node(id).parts.front();
    return id;
  }

  // What a slot waits for. A rule that was not met before gets its number, and is made later.
  uint32_t code_of(uint32_t id) {
    id = resolved(id);
    if (node(id).kind == Parts::Kind::kLexeme)
      return Grammar::lexeme_code(lexeme_ids_[node(id).lexeme]);
    if (rule_ids_[id] == Grammar::kNothing) {
      rule_ids_[id] = static_cast<uint32_t>(rule_nodes_.size());
      rule_nodes_.push_back(id);
    }
    return Grammar::rule_code(rule_ids_[id]);
  }

  void add_right_side(uint32_t rule, std::span<const uint32_t> parts) {
    for (const uint32_t part : parts) {
      if (!productive_[part]) return;
    }
    out_.starts_.push_back(static_cast<uint32_t>(out_.slots_.size()));
    for (const uint32_t part : parts) {
      // What matches the empty text only needs no place.
      const uint32_t id = resolved(part);
      if (node(id).kind == Parts::Kind::kSequence && node(id).parts.empty()) continue;
      Grammar::Slot slot;
      slot.code = code_of(part);
      slot.kind = slot.code % 2 == 0 ? Grammar::Kind::kLexeme : Grammar::Kind::kRule;
      slot.nullable = nullable_[part];
      slot.rule = rule;
      out_.slots_.push_back(slot);
    }
    Grammar::Slot end;
    end.rule = rule;
    out_.slots_.push_back(end);
  }

  base::Result<void> make_rules(uint32_t start) {
    rule_ids_.assign(parts_.nodes.size(), Grammar::kNothing);
    // The start is a rule, even where it is one lexeme.
    rule_nodes_.push_back(Grammar::kNothing);
    start_node_ = start;
    for (uint32_t rule = 0; rule < rule_nodes_.size(); ++rule) {
      if (rule_nodes_.size() > parts_.limits.rules)
        return over_limit("The rules of the grammar are", parts_.limits.rules, "rules");
      if (rule % 256 == 0) PUNA_TRY(parts_.deadline.check());
      Grammar::Rule made;
      made.first = static_cast<uint32_t>(out_.starts_.size());
      if (rule == 0) {
        made.nullable = nullable_[start];
        add_right_side(rule, {&start_node_, 1});
      } else {
        made.nullable = nullable_[rule_nodes_[rule]];
        add_right_sides(rule, node(rule_nodes_[rule]));
      }
      made.end = static_cast<uint32_t>(out_.starts_.size());
      out_.rules_.push_back(made);
    }
    return {};
  }

  void add_right_sides(uint32_t rule, const Parts::Node& at) {
    if (at.kind == Parts::Kind::kChoice) {
      for (const uint32_t& part : at.parts) {
        const Parts::Node& inner = node(part);
        if (inner.kind == Parts::Kind::kSequence) {
          add_right_side(rule, inner.parts);
        } else {
          add_right_side(rule, {&part, 1});
        }
      }
      return;
    }
    if (at.kind == Parts::Kind::kSequence) return add_right_side(rule, at.parts);
    // A repetition. A part that no text matches is repeated no times.
    if (!productive_[at.parts.front()]) return add_right_side(rule, {});
    out_.starts_.push_back(static_cast<uint32_t>(out_.slots_.size()));
    Grammar::Slot slot;
    slot.kind = Grammar::Kind::kRepeat;
    slot.rule = rule;
    slot.code = code_of(at.parts.front());
    slot.nullable = nullable_[at.parts.front()];
    slot.least = slot.nullable ? 0 : at.least;
    slot.most = at.most;
    out_.slots_.push_back(slot);
  }

  // The bytes that may stand right behind each lexeme: the fixed point of what is first in each
  // rule and what may follow it.
  base::Result<void> find_follow() {
    std::vector<ByteSet> first(out_.rules_.size()), follow(out_.rules_.size());
    const auto first_of = [&](uint32_t code) -> const ByteSet& {
      return code % 2 == 0 ? out_.lexemes_[code / 2].lexeme.first_bytes() : first[code / 2];
    };
    const auto follow_of = [&](uint32_t code) -> ByteSet& {
      return code % 2 == 0 ? out_.lexemes_[code / 2].follow : follow[code / 2];
    };
    bool changed = true;
    const auto grow = [&](ByteSet& set, const ByteSet& by) {
      const ByteSet before = set;
      set |= by;
      changed |= !(set == before);
    };
    // A right side from its end, so that what is behind each slot is known.
    const auto pass = [&](size_t side, bool follows) {
      const size_t begin = out_.starts_[side];
      const size_t end =
          side + 1 < out_.starts_.size() ? out_.starts_[side + 1] : out_.slots_.size();
      const uint32_t rule = out_.slots_[begin].rule;
      ByteSet behind;
      bool to_end = true;
      for (size_t i = end; i-- > begin;) {
        const Grammar::Slot& slot = out_.slots_[i];
        if (slot.kind == Grammar::Kind::kEnd) continue;
        if (slot.kind == Grammar::Kind::kRepeat && slot.most > 1) behind = first_of(slot.code);
        if (follows) {
          ByteSet next = behind;
          if (to_end) next |= follow[rule];
          grow(follow_of(slot.code), next);
        }
        if (slot.nullable) {
          behind |= first_of(slot.code);
        } else {
          behind = first_of(slot.code);
          to_end = false;
        }
      }
      if (!follows) grow(first[rule], behind);
    };
    // What is first in a rule comes from rules that are found after it, what follows it from those
    // before: against and along their order, long chains of rules take few passes.
    const size_t n_sides = out_.starts_.size();
    for (const bool follows : {false, true}) {
      for (changed = true; changed;) {
        changed = false;
        PUNA_TRY(parts_.deadline.check());
        for (size_t i = 0; i < n_sides; ++i) pass(follows ? i : n_sides - 1 - i, follows);
      }
    }
    return {};
  }

  void fingerprint() {
    for (Grammar::LexemeUse& use : out_.lexemes_) {
      use.fingerprint = {1, 2};
      const auto put = [&](uint64_t value) {
        use.fingerprint[0] = mix(use.fingerprint[0], value, 0x9E3779B97F4A7C15);
        use.fingerprint[1] = mix(use.fingerprint[1], value, 0xC2B2AE3D27D4EB4F);
      };
      for (const uint64_t word : use.follow.words()) put(word);
      use.lexeme.for_each_word(put);
    }
    uint64_t& all = out_.fingerprint_;
    const auto put = [&](uint64_t value) { all = mix(all, value, 0x9E3779B97F4A7C15); };
    for (const Grammar::LexemeUse& use : out_.lexemes_) put(use.fingerprint[0]);
    for (const uint32_t start : out_.starts_) put(start);
    for (const Grammar::Slot& slot : out_.slots_) {
      put(uint64_t{slot.rule} << 32 | slot.code);
      put(uint64_t{slot.least} << 32 | slot.most);
      put(static_cast<uint64_t>(slot.kind) * 2 + (slot.nullable ? 1 : 0));
    }
  }

  Parts& parts_;
  Grammar out_;
  std::vector<uint32_t> reached_;     // may hold a node twice
  std::vector<uint32_t> lexeme_ids_;  // in out_, by the index in parts_
  std::vector<bool> nullable_, productive_;
  std::vector<uint32_t> rule_ids_;    // by node
  std::vector<uint32_t> rule_nodes_;  // by rule
  uint32_t start_node_ = 0;
};

base::Result<std::shared_ptr<const Grammar>> compile(Parts& parts, Symbol start) {
  return GrammarCompiler(parts).compile(start);
}

size_t Grammar::size_bytes() const {
  size_t out = sizeof(*this) + slots_.size() * sizeof(Slot) + starts_.size() * sizeof(uint32_t) +
               rules_.size() * sizeof(Rule);
  for (const LexemeUse& use : lexemes_) out += sizeof(use) + use.lexeme.size_bytes();
  return out;
}

}  // namespace puna::grammar
