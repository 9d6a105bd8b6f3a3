// SHA-256 of text and files, as 64 lower-case hex digits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::store {

std::string sha256_hex(std::string_view text);

// `each` is told the bytes read so far and may end it with an error. Errors: kNotFound, kIo.
base::Result<std::string> sha256_of_file(
    const std::string& path, const std::function<base::Result<void>(uint64_t done_bytes)>& each);

}  // namespace puna::store
