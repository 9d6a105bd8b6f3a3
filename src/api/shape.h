// Shapes: JSON schemas in a short form, itself JSON, for tables and pages that people read.
//   "string", "string|null"   a type, or several: string, integer, number, boolean, null, object,
//                             array; "any"
//   "=text", "=a|b"           one text, or one of several
//   "#Name"                   what is described elsewhere under this name
//   {"a": …, "b?": …}         an object; b may be missing; "*" stands for all other members
//   […]                       a list of such items
//   ["+", …]                  likewise, at least one
//   […, …]                    one of several
#pragma once

#include <string_view>

#include "base/json.h"

namespace puna::api {

// A schema of JSON Schema 2020-12; names become "#/components/schemas/Name". The shape is one of a
// table: it has to be right.
base::Json schema_of(std::string_view shape);

}  // namespace puna::api
