// Base64 as it comes in bodies (RFC 4648, section 4).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace puna::api {

// The bytes; none for a text that is no base64. Padding at the end may be missing, letters of the
// alphabet for addresses ('-' and '_') count as those of the usual one, and line ends, which MIME
// and some tools put into it, are passed over.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace puna::api
