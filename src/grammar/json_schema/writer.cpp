#include "grammar/json_schema/writer.h"

#include <fmt/format.h>

namespace puna::grammar {

using base::Result;

namespace {
constexpr uint32_t kMostIndentation = 20;
}

RuleWriter::RuleWriter(Builder& builder, SchemaReader& reader)
    : builder_(builder), reader_(reader), e_(builder.expressions()) {
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
  open_object_ = lexeme({e_.literal("{"), gap_});
  close_object_ = lexeme({gap_, e_.literal("}")});
  empty_object_ = lexeme({e_.literal("{"), gap_, e_.literal("}")});
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

Result<Symbol> RuleWriter::write(TermId term) {
  const Symbol out = value(term);
  while (!open_.empty()) {
    writing_ = open_.back();
    open_.pop_back();
    PUNA_TRY(builder_.deadline().check());
    PUNA_TRY(const ValueSet* set, reader_.values(writing_));
    if (rules_.size() > builder_.limits().rules) return too_many_rules();
    PUNA_TRY(const Symbol made, body(*set));
    builder_.define(rules_.at(writing_), made);
  }
  return out;
}

Result<Symbol> RuleWriter::body(const ValueSet& set) {
  std::vector<Symbol> ways;
  std::vector<std::string> words;
  if (set.null) words.emplace_back("null");
  if (set.no) words.emplace_back("false");
  if (set.yes) words.emplace_back("true");
  if (!words.empty()) ways.push_back(builder_.lexeme(e_.literals(std::move(words))));
  if (!set.numbers.is_none()) ways.push_back(builder_.lexeme(set.numbers.expression(e_)));
  if (!e_.is_nothing(set.strings)) {
    Languages& languages = reader_.languages();
    // Only what a schema says of strings may be over a limit, which an error then tells of.
    const bool any = set.strings == languages.any();
    ways.push_back(builder_.lexeme(languages.as_json(set.strings),
                                   any ? std::string() : reader_.path_of(writing_)));
  }
  for (const ArrayShape& shape : set.arrays) {
    PUNA_TRY(const Symbol way, array(shape));
    ways.push_back(way);
  }
  for (const ObjectShape& shape : set.objects) {
    PUNA_TRY(const Symbol way, object(shape));
    ways.push_back(way);
  }
  return builder_.choice(ways);
}

}  // namespace puna::grammar
