// Chart: every reading of a text so far, by the rules of a grammar. There is a column for each
// place of the text where a lexeme may end; an item of a column is a place in a rule that a reading
// has come to there. Source: J. Earley, An Efficient Context-Free Parsing Algorithm, 1970; rules
// that match the empty text as in Aycock and Horspool, Practical Earley Parsing, 2002; rules that
// call rules at their ends as in J. Leo, A General Context-Free Parsing Algorithm Running in Linear
// Time on Every LR(k) Grammar, 1991.
//
// What is between two columns are lexemes that have begun: see LexemeRun.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grammar/rules.h"

namespace puna::grammar {

// A lexeme that began at a column and has not yet ended, or may go on.
struct LexemeRun {
  uint32_t lexeme = 0;
  uint32_t column = 0;
  LexemePlace place;
};

class Chart {
 public:
  // With the first column, which is the start of the text.
  explicit Chart(std::shared_ptr<const Grammar> grammar);

  const Grammar& grammar() const { return *grammar_; }
  uint32_t n_columns() const { return static_cast<uint32_t>(columns_.size()); }

  // Adds the column at which these lexemes end; all began at columns before, and no column is as
  // it is because of one of them alone. Give each pair of lexeme and column once. False, and no
  // column, where that is above a limit of the grammar.
  bool add_column(std::span<const LexemeRun> ended);
  // From here on as many steps are allowed as Limits::mask_steps says.
  void start_steps() { n_steps_ = 0; }
  // What add_column came to; none where it did not.
  std::optional<base::Error> over_limit() const;
  void forget_limit() { over_ = Over::kNone; }
  // Takes columns away from the end.
  void truncate(uint32_t n_columns);
  // The lexemes that may begin at a column.
  std::span<const uint32_t> lexemes(uint32_t column) const;
  // Whether the text up to a column fits as a whole.
  bool complete(uint32_t column) const { return columns_[column].complete; }
  // Of all that may follow a column: columns of equal hashes allow the same texts behind them, in
  // any text of any equal grammar.
  uint64_t hash(uint32_t column) const { return columns_[column].hash; }
  size_t size_bytes() const;

 private:
  struct Item {
    uint32_t slot = 0;
    uint32_t origin = 0;  // the column at which the rule began
    uint32_t count = 0;   // of repetitions behind it, in a repetition
    bool operator==(const Item&) const = default;
  };
  // A rule that began at a column.
  struct Begun {
    uint32_t rule = Grammar::kNothing, origin = 0;
  };
  struct Column {
    uint32_t items = 0, lexemes = 0;  // where they begin
    bool complete = false;
    uint64_t hash = 0;
  };
  // Things that were seen in this column, without clearing for the next.
  struct Marks {
    std::vector<uint32_t> turn_of;
    bool add(uint32_t id, uint32_t turn) {
      if (turn_of[id] == turn) return false;
      turn_of[id] = turn;
      return true;
    }
  };

  enum class Over : uint8_t { kNone, kSteps, kBytes };
  void begin_column();
  bool finish_column();
  void keep_waiting();
  bool within_limits();
  void add(Item item);
  void advance(const Item& item);
  void predict(const Grammar::Slot& slot);
  void complete_rule(uint32_t rule, uint32_t origin);
  void advance_waiting(uint32_t column, uint32_t code);
  bool ends_rule(uint32_t slot) const;
  Begun last_of(Begun ended);
  std::span<const Item> may_wait(uint32_t column, uint32_t code) const;
  std::span<const Item> items(uint32_t column) const;
  void grow_table();

  std::shared_ptr<const Grammar> grammar_;
  std::vector<Item> items_;
  std::vector<Begun> last_of_;  // of each item of a column that is whole; see last_of
  std::vector<uint32_t> lexemes_;
  std::vector<Column> columns_;
  uint64_t n_steps_ = 0;
  Over over_ = Over::kNone;
  // While a column is made:
  uint32_t turn_ = 0;
  Marks predicted_, lexeme_seen_;
  struct Entry {
    uint32_t turn = 0, item = 0;
  };
  std::vector<Entry> table_;  // items of this column by hash
  uint32_t n_in_table_ = 0;
  std::vector<size_t> path_;  // of last_of
};

}  // namespace puna::grammar
