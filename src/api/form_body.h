// Bodies of forms with files, multipart/form-data (RFC 7578), as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace puna::api {

// Of the value of a Content-Type; none: it is no form.
std::optional<std::string> form_boundary(std::string_view content_type);

// The fields of a form as the members of an object, each a text of the bytes that stand there, a
// file's too. Of fields with one name the first; where it ends with "[]", all, as a list. Errors:
// kInvalidArgument for a body that is none.
base::Result<base::Json> read_form(std::string_view body, std::string_view boundary);

}  // namespace puna::api
