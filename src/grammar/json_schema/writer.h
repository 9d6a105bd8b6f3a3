// Value sets as rules: how values are written.
#pragma once

#include <map>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/json_schema/reader.h"

namespace puna::grammar {

class RuleWriter {
 public:
  // Both outlive this.
  RuleWriter(Builder& builder, SchemaReader& reader);

  // The rule of a term, and all rules that it needs. Errors: as compile_json_schema().
  base::Result<Symbol> write(TermId term);

 private:
  template <class T>
  using Result = base::Result<T>;

  Symbol value(TermId term);
  Result<Symbol> body(const ValueSet& set);
  // Arrays (write_array.cpp).
  Result<Symbol> array(const ArrayShape& shape);
  Result<Symbol> plain_array(const ArrayShape& shape);
  Result<Symbol> counted_array(const ArrayShape& shape);
  Result<std::vector<base::Json>> values_of_items(const ArrayShape& shape);
  TermId item_term(const ArrayShape& shape, uint64_t index);
  // Objects (write_object.cpp).
  struct Object;
  Result<Symbol> object(const ObjectShape& shape);
  Result<void> find_names(Object& object);
  void write_named(Object& object);
  void write_others(Object& object);

  Symbol rule(std::vector<Symbol> ways);
  std::unexpected<base::Error> too_many_rules() const;

  Builder& builder_;
  SchemaReader& reader_;
  Expressions& e_;
  // "{", "}" and the like with the white space that is beside them.
  Expression space_, gap_;
  Symbol comma_, open_array_, close_array_, empty_array_, open_object_, close_object_,
      empty_object_;
  TermId writing_ = 0;  // whose rules are made
  std::map<TermId, Symbol> rules_;
  std::vector<TermId> open_;
  // Values that terms are about, apart from the schema; in pieces that stay where they are.
  std::vector<std::unique_ptr<std::vector<base::Json>>> kept_values_;
};

}  // namespace puna::grammar
