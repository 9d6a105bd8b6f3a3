#include "grammar/lexeme.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "grammar/alive.h"
#include "grammar/lengths.h"

namespace puna::grammar {

namespace {

// So many repetitions are states: a counter is dearer than so few of them.
constexpr uint32_t kMostUncounted = 4;
// A state with fewer edges than this keeps only those.
constexpr size_t kMostSparse = 4;
// Lengths that make no more states than this are states, where a counter would leave texts out.
constexpr uint64_t kMostLengthStates = 256;

}  // namespace

class LexemeCompiler {
 public:
  enum class Failure : uint8_t { kCounters, kStates, kNodes, kTime };

  LexemeCompiler(Derivatives& derivatives, const Survey& survey, const Limits& limits,
                 const Deadline& deadline)
      : e_(derivatives.expressions()),
        derivatives_(derivatives),
        survey_(survey),
        limits_(limits),
        deadline_(deadline) {}

  std::optional<Failure> compile(Expression of) {
    begin();
    expressions_.push_back(e_.nothing());
    lexeme_.nullable_ = derivatives_.nullable(of, {});
    PUNA_CHECK(state_of(of) == Lexeme::kStart);
    // Texts of literals make no more states than they have bytes; a limit is for what grows.
    const size_t most = size_t{limits_.lexeme_states} + survey_.n_nodes;
    for (uint32_t at = Lexeme::kStart; at < expressions_.size(); ++at) {
      if (expressions_.size() > most) return Failure::kStates;
      if (e_.n_nodes() > limits_.expressions) return Failure::kNodes;
      if (at % 64 == 0 && deadline_.over()) return Failure::kTime;
      if (!explore(at)) return Failure::kCounters;
    }
    if (survey_.has_logic) cut_dead();
    finish();
    return {};
  }

  // In place of compile().
  void take_over(const LengthAutomaton& from) {
    begin();
    lexeme_.states_.resize(std::max(from.states.size(), size_t{1}) + 1);
    lexeme_.states_[Lexeme::kStart].sparse = true;
    for (uint32_t i = 0; i < from.states.size(); ++i) {
      const LengthAutomaton::State& state = from.states[i];
      Lexeme::State& out = lexeme_.states_[i + 1];
      out.has_counter = state.inside;
      out.least = state.least;
      out.most = state.most;
      if (state.accepts)
        out.accept = state.ends_when_enough ? Lexeme::Accept::kWhenEnough : Lexeme::Accept::kAlways;
      row_.assign(survey_.classes.any.size(), Lexeme::Edge());
      for (const LengthAutomaton::Edge& edge : state.edges) {
        Lexeme::Edge& made = row_[edge.cls];
        made.to = (edge.to + 1) & 0x7FFFFFF;
        const CounterStep step = edge.begins ? CounterStep::kNext : CounterStep::kSame;
        made.step = static_cast<uint32_t>(step) & 3;
        made.needs_more = edge.needs_more ? 1 : 0;
        made.needs_enough = edge.needs_enough ? 1 : 0;
      }
      put_row(i + 1, state.edges.size());
    }
    lexeme_.nullable_ = lexeme_.accepts({Lexeme::kStart, 0});
    finish();
  }

  Lexeme take() { return std::move(lexeme_); }

 private:
  void begin() {
    lexeme_.class_of_ = survey_.classes.of;
    lexeme_.states_.emplace_back();  // dead
    lexeme_.states_.back().sparse = true;
  }

  uint32_t state_of(Expression of) {
    const auto [at, is_new] = ids_.try_emplace(of.id, static_cast<uint32_t>(expressions_.size()));
    if (is_new) {
      expressions_.push_back(of);
      const auto counter = derivatives_.counter(of);
      Lexeme::State& state = lexeme_.states_.emplace_back();
      state.has_counter = counter.most != 0;
      state.least = counter.least;
      state.most = counter.most;
    }
    return at->second;
  }

  // Makes the edges of a state. False where its counter does not decide alone what a byte does.
  bool explore(uint32_t id) {
    const Expression of = expressions_[id];
    const Lexeme::State state = lexeme_.states_[id];
    // The guards that a counter can come to: too few, enough, all.
    struct Case {
      Derivatives::Guard guard;
      bool possible;
    };
    const bool counts = state.has_counter;
    const Case cases[] = {
        {{.more = true, .leave = false}, counts && state.least > 1},
        {{.more = true, .leave = true}, !counts || state.least < state.most},
        {{.more = false, .leave = true}, counts && state.most != kUnbounded},
    };
    Lexeme::Accept accept = Lexeme::Accept::kNever;
    if (derivatives_.nullable(of, {.more = true, .leave = true}))
      accept = Lexeme::Accept::kWhenEnough;
    if (derivatives_.nullable(of, {.more = true, .leave = false})) accept = Lexeme::Accept::kAlways;
    lexeme_.states_[id].accept = accept;

    const ByteSet first = derivatives_.first_bytes(of);
    row_.assign(survey_.classes.any.size(), Lexeme::Edge());
    size_t n_edges = 0;
    for (uint32_t cls = 0; cls < row_.size(); ++cls) {
      const uint8_t byte = survey_.classes.any[cls];
      if (!first.contains(byte)) continue;
      std::optional<Expression> to;
      bool dead[3];
      for (size_t i = 0; i < 3; ++i) {
        dead[i] = true;
        if (!cases[i].possible) continue;
        const Expression next = derivatives_.derive(of, byte, cases[i].guard);
        if (e_.is_nothing(next)) continue;
        dead[i] = false;
        if (to && *to != next) return false;
        to = next;
      }
      if (!to) continue;
      const auto counter = derivatives_.counter(*to);
      if (counter.several) return false;
      Lexeme::Edge& edge = row_[cls];
      edge.step = static_cast<uint32_t>(counter.step) & 3;
      edge.needs_enough = cases[0].possible && dead[0] ? 1 : 0;
      edge.needs_more = cases[2].possible && dead[2] ? 1 : 0;
      edge.to = state_of(derivatives_.settled(*to)) & 0x7FFFFFF;
      ++n_edges;
    }
    put_row(id, n_edges);
    return true;
  }

  // Keeps the edges of a state that are in row_.
  void put_row(uint32_t id, size_t n_edges) {
    Lexeme::State& out = lexeme_.states_[id];
    out.sparse = n_edges <= kMostSparse;
    out.n_kept = static_cast<uint8_t>(out.sparse ? n_edges : 0);
    if (!out.sparse) {
      out.edges = static_cast<uint32_t>(lexeme_.edges_.size());
      lexeme_.edges_.insert(lexeme_.edges_.end(), row_.begin(), row_.end());
      return;
    }
    out.edges = static_cast<uint32_t>(lexeme_.sparse_.size());
    for (uint32_t cls = 0; cls < row_.size(); ++cls) {
      if (row_[cls].to == Lexeme::kDead) continue;
      lexeme_.sparse_classes_.push_back(static_cast<uint8_t>(cls));
      lexeme_.sparse_.push_back(row_[cls]);
    }
  }

  // Calls each(edge, class) for those that lead somewhere.
  template <class Each>
  void for_each_edge(const Lexeme::State& state, Each&& each) {
    const uint32_t n =
        state.sparse ? state.n_kept : static_cast<uint32_t>(survey_.classes.any.size());
    for (uint32_t i = 0; i < n; ++i) {
      const Lexeme::Edge edge =
          state.sparse ? lexeme_.sparse_[state.edges + i] : lexeme_.edges_[state.edges + i];
      if (edge.to != Lexeme::kDead)
        each(edge, state.sparse ? lexeme_.sparse_classes_[state.edges + i] : i);
    }
  }

  // Edges to states that come to no end lead nowhere. Only complements and intersections make such.
  void cut_dead() {
    std::vector<std::vector<uint32_t>> from(expressions_.size());
    std::vector<uint32_t> accepting;
    for (uint32_t id = Lexeme::kStart; id < expressions_.size(); ++id) {
      for_each_edge(lexeme_.states_[id],
                    [&](Lexeme::Edge edge, uint32_t) { from[edge.to].push_back(id); });
      if (lexeme_.states_[id].accept != Lexeme::Accept::kNever) accepting.push_back(id);
    }
    const std::vector<bool> alive = alive_states(from, std::move(accepting));
    for (auto* edges : {&lexeme_.edges_, &lexeme_.sparse_}) {
      for (Lexeme::Edge& edge : *edges) {
        if (!alive[edge.to]) edge = Lexeme::Edge();
      }
    }
  }

  void finish() {
    std::array<uint16_t, 256> class_size{};
    for (const uint8_t cls : lexeme_.class_of_) ++class_size[cls];
    for (Lexeme::State& state : lexeme_.states_) {
      state.all_need_more = true;
      for_each_edge(state, [&](Lexeme::Edge edge, uint32_t cls) {
        ++state.n_edges;
        state.n_bytes = static_cast<uint16_t>(state.n_bytes + class_size[cls]);
        state.all_need_more &= edge.needs_more != 0;
      });
      lexeme_.has_counters_ |= state.has_counter;
    }
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (lexeme_.edge(Lexeme::kStart, static_cast<uint8_t>(byte)).to != Lexeme::kDead)
        lexeme_.first_bytes_.add(static_cast<uint8_t>(byte));
    }
    lexeme_.matches_some_ = !lexeme_.first_bytes_.empty();
  }

  Expressions& e_;
  Derivatives& derivatives_;
  const Survey& survey_;
  const Limits& limits_;
  const Deadline& deadline_;
  Lexeme lexeme_;
  std::vector<Expression> expressions_;  // of the states
  std::unordered_map<uint32_t, uint32_t> ids_;
  std::vector<Lexeme::Edge> row_;
};

namespace {

// The state of `counted` in which the characters of a bound begin. Nothing: there is none, or from
// the bytes alone it cannot be told where a character begins.
std::optional<uint32_t> state_between(Derivatives& derivatives, const Lexeme& counted,
                                      const Expressions::LengthBound& bound) {
  const Expressions& e = derivatives.expressions();
  LexemePlace at{Lexeme::kStart, 0};
  for (Expression rest = bound.before;
       !e.nullable(rest) || derivatives.first_bytes(rest).size() > 0;) {
    if (e.nullable(rest) || derivatives.first_bytes(rest).size() != 1) return {};
    uint8_t byte = 0;
    while (!derivatives.first_bytes(rest).contains(byte)) ++byte;
    rest = derivatives.derive(rest, byte, {});
    at = counted.step(at, byte);
  }
  ByteSet either = derivatives.first_bytes(bound.one);
  either &= derivatives.first_bytes(bound.behind);
  if (at.state == Lexeme::kDead || !either.empty()) return {};
  return at.state;
}

}  // namespace

// Of texts with a bounded length, as far as it can be counted. The repetition is left out of an
// automaton, which is small then, and its bounds are told by a counter.
base::Result<std::optional<Lexeme>> Lexeme::with_length(Derivatives& derivatives, Expression of,
                                                        const Limits& limits,
                                                        const Deadline& deadline) {
  const auto bound = derivatives.expressions().length_bound(of);
  if (!bound) return std::nullopt;
  derivatives.count_from(kUnbounded);
  const Survey survey =
      derivatives.survey(derivatives.expressions().sequence({bound->texts, bound->counted}));
  std::vector<Lexeme> parts;
  for (const Expression part : {bound->texts, bound->counted, bound->one}) {
    LexemeCompiler compiler(derivatives, survey, limits, deadline);
    // What is too large without the bound is compiled with it, whose error tells of it.
    if (compiler.compile(part)) return std::nullopt;
    parts.push_back(compiler.take());
  }
  // No character is the beginning of another.
  for (const State& state : parts[2].states_) {
    if (state.accept != Accept::kNever && state.n_edges > 0) return std::nullopt;
  }
  const auto between = state_between(derivatives, parts[1], *bound);
  if (!between || parts[2].nullable_) return std::nullopt;
  PUNA_TRY(const auto counted, count_lengths({parts[0], parts[1], *between,
                                              derivatives.first_bytes(bound->one), survey.classes},
                                             *bound, limits, deadline));
  if (!counted) return std::nullopt;
  if (!counted->exact && uint64_t{counted->states.size()} * bound->most <= kMostLengthStates)
    return std::nullopt;
  LexemeCompiler compiler(derivatives, survey, limits, deadline);
  compiler.take_over(*counted);
  return compiler.take();
}

base::Result<Lexeme> Lexeme::compile(Derivatives& derivatives, Expression of, std::string_view name,
                                     const Limits& limits, const Deadline& deadline,
                                     bool& too_many_states) {
  too_many_states = false;
  const Survey survey = derivatives.survey(of);
  if (survey.has_logic && !survey.counts.empty()) {
    PUNA_TRY(auto counted, with_length(derivatives, of, limits, deadline));
    if (counted) return *std::move(counted);
  }
  // Counters for all that is repeated often, for the largest only, for none. With intersections a
  // counter does not tell which texts can still be completed.
  std::vector<uint32_t> attempts;
  if (!survey.has_logic && !survey.counts.empty() && survey.counts.back() > kMostUncounted) {
    attempts.push_back(kMostUncounted);
    const auto largest = std::ranges::lower_bound(survey.counts, survey.counts.back());
    if (largest != survey.counts.begin() && *std::prev(largest) > kMostUncounted)
      attempts.push_back(*std::prev(largest));
  }
  attempts.push_back(kUnbounded);
  for (const uint32_t counted_from : attempts) {
    derivatives.count_from(counted_from);
    LexemeCompiler compiler(derivatives, survey, limits, deadline);
    const auto failure = compiler.compile(of);
    if (!failure) return compiler.take();
    const std::string what = name.empty() ? "The lexemes of the grammar" : fmt::format("{}", name);
    switch (*failure) {
      case LexemeCompiler::Failure::kCounters:
        continue;
      case LexemeCompiler::Failure::kStates:
        if (counted_from != kUnbounded) continue;
        too_many_states = true;
        return over_limit(fmt::format("The states of {} are", what), limits.lexeme_states,
                          "lexeme_states");
      case LexemeCompiler::Failure::kNodes:
        return over_limit(fmt::format("The expressions of {} have", what), limits.expressions,
                          "expressions");
      case LexemeCompiler::Failure::kTime:
        return over_limit(fmt::format("Compiling {} takes", what), limits.compile_ms, "compile_ms");
    }
  }
  // Without counters no attempt fails for their sake.
  PUNA_CHECK(false);
  return Lexeme();
}

std::optional<uint8_t> Lexeme::only_byte(LexemePlace at) const {
  const State& from = states_[at.state];
  // Only sparse states have so few bytes; where a count cuts them down, finding out is dearer than
  // what it saves.
  if (!from.sparse || from.n_bytes != 1) return {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (step(at, static_cast<uint8_t>(byte)).state != kDead) return static_cast<uint8_t>(byte);
  }
  return {};
}

size_t Lexeme::size_bytes() const {
  return sizeof(*this) + states_.size() * sizeof(State) + edges_.size() * sizeof(Edge) +
         sparse_.size() * (sizeof(Edge) + 1);
}

}  // namespace puna::grammar
