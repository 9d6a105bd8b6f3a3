// Joining, meeting and taking away: the algebra of value sets. Nothing here looks into a term.
#pragma once

#include <span>

#include "grammar/json_schema/languages.h"
#include "grammar/json_schema/terms.h"
#include "grammar/json_schema/value_set.h"

namespace puna::grammar {

class Algebra {
 public:
  // More shapes than this are not told apart.
  static constexpr size_t kMostShapes = 512;

  Algebra(Terms& terms, Languages& languages) : terms_(terms), languages_(languages) {}

  ValueSet all();
  ValueSet none() { return {}; }
  // One of these values.
  ValueSet of_values(std::span<const base::Json> values);

  // a becomes what either admits, or both do. Errors: kInvalidArgument for too many shapes.
  base::Result<void> join(ValueSet& a, std::span<const ValueSet* const> others);
  base::Result<void> meet(ValueSet& a, const ValueSet& b);
  // Errors: the same; kUnsupported for what cannot be taken away.
  base::Result<ValueSet> complement(const ValueSet& of);

 private:
  ArrayShape shape_of_array(const base::Json& value);
  ObjectShape shape_of_object(const base::Json& value);
  base::Result<void> complement_into(const ArrayShape& shape, std::vector<ArrayShape>& out);
  void complement_into(const ObjectShape& shape, std::vector<ObjectShape>& out);

  Terms& terms_;
  Languages& languages_;
};

// What an object with such a shape has to have; some shapes of arrays and objects nothing has.
bool is_possible(const ArrayShape& shape);
bool is_possible(const ObjectShape& shape);

}  // namespace puna::grammar
