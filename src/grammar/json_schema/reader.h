// Schemas as value sets: what each keyword says.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/json_schema/languages.h"
#include "grammar/json_schema/shapes.h"
#include "grammar/json_schema/terms.h"
#include "grammar/json_schema/value_set.h"

namespace puna::grammar {

class SchemaReader {
 public:
  // All of them outlive this.
  SchemaReader(SchemaDocument& document, Languages& languages, const JsonSchemaOptions& options,
               const Deadline& deadline);

  Terms& terms() { return terms_; }
  Languages& languages() { return languages_; }
  // What a term admits; stays where it is. Errors: as compile_json_schema().
  base::Result<const ValueSet*> values(TermId term);
  // Whether certainly no value is admitted; looked into `depth` levels deep.
  bool surely_empty(const ValueSet& set, int depth);
  bool surely_empty(const ArrayShape& shape, int depth);
  bool surely_empty(const ObjectShape& shape, int depth);
  bool surely_empty(TermId term, int depth);
  bool has_name(const Names& names, std::string_view name);
  // All that is said of the property `name`.
  TermId member_term(const ObjectShape& shape, std::string_view name);
  // Where the schema of a term stands, for errors.
  std::string path_of(TermId term) const;
  // The values that `enum` or `const` of a schema of the term lists, unless there is no such.
  base::Result<std::optional<std::vector<base::Json>>> listed_values(TermId term);

 private:
  using Json = base::Json;
  template <class T>
  using Result = base::Result<T>;

  Result<ValueSet> compute(TermId term);
  Result<ValueSet> read(const Json& schema, bool closed);
  Result<void> check_keywords(const Json& schema);

  // What stands in the schema itself (read_values.cpp, read_shapes.cpp). Each narrows the set.
  Result<void> read_type(const Json& schema, ValueSet& set);
  Result<void> read_enum(const Json& schema, ValueSet& set);
  Result<void> read_numbers(const Json& schema, ValueSet& set);
  Result<void> read_strings(const Json& schema, ValueSet& set);
  Result<void> read_arrays(const Json& schema, ValueSet& set);
  Result<void> read_objects(const Json& schema, ValueSet& set);
  // What other schemas say of the same value (read_logic.cpp).
  Result<void> read_refs(const Json& schema, bool closed, ValueSet& set);
  Result<void> read_all_of(const Json& schema, ValueSet& set);
  Result<void> read_any_of(const Json& schema, bool closed, ValueSet& set);
  Result<void> read_one_of(const Json& schema, bool closed, ValueSet& set);
  Result<void> read_if(const Json& schema, ValueSet& set);
  Result<void> read_not(const Json& schema, ValueSet& set);
  Result<void> read_dependents(const Json& schema, ValueSet& set);
  Result<void> read_unevaluated(const Json& schema, ValueSet& set);
  Result<void> meet_if_present(const Json& where, std::string_view name, const ValueSet& then,
                               ValueSet& set);
  // The names that no schema looked at.
  Names unseen(const ObjectShape& shape);
  Names all_names_but(std::vector<std::string> names, std::span<const Expression> patterns);

  // Members of a schema, checked. Errors: kInvalidArgument with the path, what stands there and
  // what may.
  Result<std::optional<uint64_t>> count_at(const Json& schema, std::string_view key);
  Result<std::optional<Decimal>> number_at(const Json& schema, std::string_view key);
  Result<const Json*> list_at(const Json& schema, std::string_view key);
  Result<const Json*> map_at(const Json& schema, std::string_view key);
  Result<const Json*> schema_at(const Json& schema, std::string_view key);
  Result<std::vector<std::string>> names_at(const Json& list);
  Result<Names> pattern_names(const Json& where, std::string_view pattern);
  std::unexpected<base::Error> wrong(const Json& where, std::string_view key, const Json& value,
                                     std::string_view wanted) const;
  std::unexpected<base::Error> refuse(const Json& where, std::string_view what,
                                      base::ErrorCode code = base::ErrorCode::kUnsupported) const;
  // The same for an error of what is below `where`, which says what, but not where.
  std::unexpected<base::Error> at(const Json& where, base::Error error) const;

  // The value set of a schema about the same value, and what is not in it.
  Result<const ValueSet*> beside(const Json& schema, bool closed = false);
  Result<ValueSet> all_but(const Json& where, const ValueSet& set);
  // As of the algebra, with the place in errors.
  Result<void> meet(const Json& where, ValueSet& a, const ValueSet& b);
  Result<void> join(const Json& where, ValueSet& a, std::span<const ValueSet* const> others);

  SchemaDocument& document_;
  Languages& languages_;
  const JsonSchemaOptions& options_;
  const Deadline& deadline_;
  Terms terms_;
  Algebra algebra_;
  bool has_unevaluated_;
  uint32_t depth_ = 0;
  // Nothing while it is being made.
  std::map<TermId, std::optional<ValueSet>> sets_;
  std::map<std::string, Expression, std::less<>> patterns_;
};

}  // namespace puna::grammar
