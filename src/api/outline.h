// Some of the members of a JSON object, where the rest is for somebody else to read: nothing else
// is parsed, so that a body of many megabytes costs a walk over its bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace puna::api {

// An object with those of the members of `text` that have one of the names: as they are where they
// are not longer than `most` bytes, else true. What is no object gives null. Errors: kCorrupt for
// text whose brackets, strings or separators are not those of one JSON document, and for what
// Json::parse_strictly() says of a member that is read. Of members that are not, and of those with
// one name, nothing is said: whoever reads the body does.
base::Result<base::Json> outline(std::string_view text, std::span<const std::string_view> names,
                                 size_t most = 4096);

}  // namespace puna::api
