// The fields of a request's body as a table: what they are called, what they may be and what they
// do. One table for each endpoint, of parts that endpoints share; it says what is read, what is
// refused and what is passed over, and documentation and descriptions of the interface are made of
// it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace puna::api {

struct Field;
using FieldTable = std::span<const Field> (*)();

struct Field {
  enum class Kind : uint8_t {
    kText,
    kFlag,
    kNumber,   // from `least` to `most`
    kInteger,  // likewise
    kTexts,    // a list of texts; a single text is a list of one
    kList,
    kObject,
    kAny,
  };
  enum class Effect : uint8_t {
    kMeant,
    kNone,     // read by nobody: it changes nothing here
    kRefused,  // its effect cannot be given: 400 by name, unless it is null or `harmless`
  };

  std::string_view name;
  Kind kind = Kind::kAny;
  // A sentence for the documentation; of a refused field the reason.
  std::string_view about;
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  Effect effect = Effect::kMeant;
  // As JSON: the value of a refused field that asks for nothing; empty: none.
  std::string_view harmless = {};
  // Of a kText: all that it may be, "float|base64"; empty: any.
  std::string_view values = {};
  // The field of the same table of which it is another name; empty: of none.
  std::string_view same_as = {};

  // The rest is read by descriptions only. As JSON: what holds where it is not given, unless the
  // model or the server says otherwise; empty: it goes without.
  std::string_view initial = {};
  bool required = false;
  // What its kind does not say (shape.h).
  std::string_view shape = {};
  FieldTable inner = nullptr;  // the members of a kObject, or of each item of a kList

  constexpr Field one_of(std::string_view texts) const {
    Field out = *this;
    out.values = texts;
    return out;
  }
  constexpr Field same(std::string_view other) const {
    Field out = *this;
    out.same_as = other;
    return out;
  }
  constexpr Field or_else(std::string_view json) const {
    Field out = *this;
    out.initial = json;
    return out;
  }
  constexpr Field needed() const {
    Field out = *this;
    out.required = true;
    return out;
  }
  constexpr Field shaped(std::string_view json) const {
    Field out = *this;
    out.shape = json;
    return out;
  }
  constexpr Field with(FieldTable members) const {
    Field out = *this;
    out.inner = members;
    return out;
  }
};

// Tables side by side; where several have a row of a name, the first counts.
using FieldTables = std::initializer_list<std::span<const Field>>;

// A body whose fields were checked against tables. A field that is null counts as not given. The
// reads are of fields of the tables, of the kind that stands there.
class Body {
 public:
  // Unknown fields are passed over with a line in the log, and so are two names of one thing whose
  // values differ. The JSON outlives this. Errors:
  // kInvalidArgument when the body is no object, and for a field that is not what its row says,
  // with its name, what stands there and what may; kUnsupported for refused ones.
  static base::Result<Body> read(const base::Json& json, FieldTables tables);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Null when it is not given, or has no effect: only what was checked is there.
  const base::Json* find(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

 private:
  struct Member {
    std::string_view name;
    const base::Json* value = nullptr;
  };
  std::vector<Member> members_;
};

// "The field "seed" is "x" (string), but has to be ...".
std::unexpected<base::Error> refuse_field(std::string_view name, const base::Json& value,
                                          std::string_view wanted);
// Token ids. Errors: kInvalidArgument naming `field`.
base::Result<std::vector<int32_t>> token_ids(std::string_view field, const base::Json& value);

}  // namespace puna::api
