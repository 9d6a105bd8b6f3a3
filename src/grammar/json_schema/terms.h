// Terms: what stands inside of arrays and objects, before it is looked at. Equal terms are one, so
// a schema that refers to itself has finitely many.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "grammar/json_schema/value_set.h"

namespace puna::grammar {

struct Term {
  enum class Kind : uint8_t {
    kAll,     // any value
    kNone,    // no value
    kSchema,  // what `json` admits as a schema
    kValue,   // `json` itself
    kEvery,   // what all of `parts` admit
    kNot,     // what parts[0] does not admit
  };
  Kind kind = Kind::kAll;
  const base::Json* json = nullptr;
  // Of a kSchema: it stands where nothing else says what an object may have, so that with `strict`
  // its objects have nothing else.
  bool closed = false;
  std::vector<TermId> parts{};
  bool operator<(const Term& other) const {
    return std::tie(kind, json, closed, parts) <
           std::tie(other.kind, other.json, other.closed, other.parts);
  }
};

class Terms {
 public:
  static constexpr TermId kAll = 0, kNone = 1;

  Terms();
  TermId schema(const base::Json& json, bool closed);
  TermId value(const base::Json& json);
  TermId every(std::span<const TermId> parts);
  TermId every(TermId a, TermId b) { return every(std::array{a, b}); }
  TermId negation(TermId term);

  const Term& operator[](TermId id) const { return *terms_[id]; }
  size_t size() const { return terms_.size(); }

 private:
  TermId add(Term term);

  std::map<Term, TermId> ids_;
  std::vector<const Term*> terms_;  // keys of ids_
};

}  // namespace puna::grammar
