#include "grammar/json_schema/writer.h"

#include <fmt/format.h>

namespace puna::grammar {

using base::Result;

namespace {
constexpr uint32_t kMostIndentation = 20;
}

RuleWriter::RuleWriter(Builder& builder, SchemaReader& reader, const Notation& notation)
    : builder_(builder), reader_(reader), e_(builder.expressions()), notation_(notation) {
  ByteSet blanks;
  blanks.add(' ');
  blanks.add('\t');
  const Expression indentation = e_.repeat(e_.bytes(blanks), 0, kMostIndentation);
  space_ = e_.optional(e_.literal(" "));
  gap_ = e_.choice({space_, e_.sequence({e_.literal("\n"), indentation})});
  const auto lexeme = [&](std::initializer_list<Expression> parts) {
    return builder_.lexeme(e_.sequence(parts));
  };
  comma_ = lexeme({e_.literal(","), gap_});
  open_array_ = lexeme({e_.literal("["), gap_});
  close_array_ = lexeme({gap_, e_.literal("]")});
  empty_array_ = lexeme({e_.literal("["), gap_, e_.literal("]")});
  braces_.open = lexeme({e_.literal("{"), gap_});
  braces_.close = lexeme({gap_, e_.literal("}")});
  braces_.empty = lexeme({e_.literal("{"), gap_, e_.literal("}")});
  braces_.comma = comma_;
}

Symbol RuleWriter::value(TermId term) {
  const auto [place, is_new] = rules_.emplace(term, Symbol{});
  if (is_new) {
    place->second = builder_.declare(fmt::format("value {}", term));
    open_.push_back(term);
  }
  return place->second;
}

// A rule of its own, so that it is not repeated wherever it is used.
Symbol RuleWriter::rule(std::vector<Symbol> ways) {
  const Symbol out = builder_.declare("part");
  builder_.define(out, builder_.choice(ways));
  return out;
}

std::unexpected<base::Error> RuleWriter::too_many_rules() const {
  auto error = over_limit("The rules of the schema are", builder_.limits().rules, "rules");
  error.error().message = fmt::format("{}: {}", reader_.path_of(writing_), error.error().message);
  return error;
}

Result<Expression> RuleWriter::without_ends(Expression text) {
  return reader_.languages().avoiding(text, notation_.ends);
}

// Texts of these characters as values, and what stands behind them. A quote of its own may be one
// of the ends, so that what stands between two of them is what holds none.
Result<Expression> RuleWriter::written(Expression texts, Expression behind) {
  if (notation_.quote.empty())
    return without_ends(e_.sequence({reader_.languages().as_json(texts), behind}));
  PUNA_TRY(const Expression kept, without_ends(texts));
  const Expression quote = e_.literal(notation_.quote);
  return e_.sequence({quote, kept, quote, behind});
}

Result<Symbol> RuleWriter::write(TermId term) {
  const Symbol out = value(term);
  PUNA_TRY(write_open());
  return out;
}

Result<void> RuleWriter::write_open() {
  while (!open_.empty()) {
    writing_ = open_.back();
    open_.pop_back();
    PUNA_TRY(builder_.deadline().check());
    PUNA_TRY(const ValueSet* set, reader_.values(writing_));
    if (rules_.size() > builder_.limits().rules) return too_many_rules();
    PUNA_TRY(const Symbol made, body(*set));
    builder_.define(rules_.at(writing_), made);
  }
  return {};
}

Result<Symbol> RuleWriter::body(const ValueSet& set) {
  std::vector<Symbol> ways;
  std::vector<std::string> words;
  if (set.null) words.push_back(notation_.null);
  if (set.no) words.push_back(notation_.no);
  if (set.yes) words.push_back(notation_.yes);
  if (!words.empty()) ways.push_back(builder_.lexeme(e_.literals(std::move(words))));
  if (!set.numbers.is_none())
    ways.push_back(builder_.lexeme(set.numbers.expression(e_, notation_.short_numbers)));
  if (!e_.is_nothing(set.strings)) {
    Languages& languages = reader_.languages();
    // Only what a schema says of strings may be over a limit, which an error then tells of.
    const bool any = set.strings == languages.any();
    PUNA_TRY(const Expression text, written(set.strings, e_.empty()));
    ways.push_back(builder_.lexeme(text, any ? std::string() : reader_.path_of(writing_)));
  }
  for (const ArrayShape& shape : set.arrays) {
    PUNA_TRY(const Symbol way, array(shape));
    ways.push_back(way);
  }
  for (const ObjectShape& shape : set.objects) {
    PUNA_TRY(const Symbol way, object(shape, braces_));
    ways.push_back(way);
  }
  return builder_.choice(ways);
}

}  // namespace puna::grammar
