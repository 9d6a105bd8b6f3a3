// What values a schema admits, by their types: the form in which schemas are joined (anyOf), met
// (allOf) and taken away (not) exactly. Numbers and strings are regular languages; arrays and
// objects are lists of shapes, any of which a value may have, and all of whose parts it then
// fulfils. What stands inside of arrays and objects is a term: looked at when it is needed, so that
// schemas may refer to themselves. Read next: terms.h, reader.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "grammar/expression.h"
#include "grammar/json_schema/numerals.h"

namespace puna::grammar {

inline constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

// A term of Terms: a schema, a value, or some of these together.
using TermId = uint32_t;

// Property names: one, or those whose characters as UTF-8 match an expression.
struct Names {
  std::optional<std::string> one{};
  Expression many{};
  // Where `many` are all names but some that are known one by one: these, sorted.
  std::optional<std::vector<std::string>> all_but{};
  bool operator==(const Names&) const = default;
};

struct ArrayShape {
  // Items [from, to) are of `term`.
  struct Items {
    uint64_t from = 0, to = kEndless;
    TermId term = 0;
    bool operator==(const Items&) const = default;
  };
  // Of the items [from, to), least to most are of `term`.
  struct Count {
    uint64_t from = 0, to = kEndless;
    TermId term = 0;
    uint64_t least = 0, most = kEndless;
    bool operator==(const Count&) const = default;
  };
  std::vector<Items> items{};
  std::vector<Count> counts{};
  uint64_t least = 0, most = kEndless;
  bool unique = false;
  uint64_t evaluated = 0;  // so many items were looked at, as unevaluatedItems sees it
  bool operator==(const ArrayShape&) const = default;
};

struct ObjectShape {
  struct Member {
    Names names{};
    TermId term = 0;
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> members{};  // each property with such a name is of the term
  std::vector<Member> needed{};   // there is a property with such a name and of the term
  uint64_t least = 0, most = kEndless;
  bool described = false;          // by a schema that is about objects
  std::vector<Names> evaluated{};  // were looked at, as unevaluatedProperties sees it
  bool operator==(const ObjectShape&) const = default;
};

struct ValueSet {
  bool null = false;
  bool no = false, yes = false;  // false and true
  Numerals numbers = Numerals::none();
  Expression strings{};  // their characters as UTF-8
  // `strings` are fewer than the schema admits, so what is left of all strings would be too many.
  bool strings_in_part = false;
  std::vector<ArrayShape> arrays{};
  std::vector<ObjectShape> objects{};
};

}  // namespace puna::grammar
