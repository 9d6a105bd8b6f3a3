// Value sets as rules: how values are written.
#pragma once

#include <map>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/json_schema/notation.h"
#include "grammar/json_schema/reader.h"

namespace puna::grammar {

class RuleWriter {
 public:
  // All outlive this.
  RuleWriter(Builder& builder, SchemaReader& reader, const Notation& notation);

  // The rule of a term, and all rules that it needs. Errors: as compile_json_schema().
  base::Result<Symbol> write(TermId term);
  // The objects among its values as the arguments of a call. Errors: the same.
  base::Result<Symbol> write_arguments(TermId term, const ArgumentNotation& notation);

 private:
  template <class T>
  using Result = base::Result<T>;

  Symbol value(TermId term);
  Result<void> write_open();
  // A text in values, without what may stand in none.
  Result<Expression> without_ends(Expression text);
  Result<Expression> written(Expression texts, Expression behind);
  Result<Symbol> body(const ValueSet& set);
  // Arrays (write_array.cpp).
  Result<Symbol> array(const ArrayShape& shape);
  Result<Symbol> plain_array(const ArrayShape& shape);
  Result<Symbol> counted_array(const ArrayShape& shape);
  Result<std::vector<base::Json>> values_of_items(const ArrayShape& shape);
  TermId item_term(const ArrayShape& shape, uint64_t index);
  // Objects (write_object.cpp).
  struct Object;
  // What stands around and between the properties of an object.
  struct Brackets {
    Symbol open, close, empty, comma;
    const ArgumentNotation* arguments = nullptr;  // not null: it is those of a call
  };
  Result<Symbol> object(const ObjectShape& shape, const Brackets& brackets);
  Result<void> find_names(Object& object);
  Result<void> write_named(Object& object);
  Result<void> write_others(Object& object);
  // The name of a property, and what stands behind it; of one that the schema does not name the
  // latter's `name` is empty. Nothing where there is no way to write it (write_arguments.cpp).
  Result<Expression> key(const Brackets& brackets, const std::string& name);
  Result<Expression> key(const Brackets& brackets, Expression names);
  Result<Symbol> content(const Brackets& brackets, TermId term, std::string_view name);
  Result<Symbol> tagged(TermId term, const TextReading& reading);

  Symbol rule(std::vector<Symbol> ways);
  std::unexpected<base::Error> too_many_rules() const;

  Builder& builder_;
  SchemaReader& reader_;
  Expressions& e_;
  const Notation& notation_;
  // "{", "}" and the like with the white space that is beside them.
  Expression space_, gap_;
  Symbol comma_, open_array_, close_array_, empty_array_;
  Brackets braces_;
  TermId writing_ = 0;  // whose rules are made
  std::map<TermId, Symbol> rules_;
  std::vector<TermId> open_;
  // Values that terms are about, apart from the schema; in pieces that stay where they are.
  std::vector<std::unique_ptr<std::vector<base::Json>>> kept_values_;
};

}  // namespace puna::grammar
