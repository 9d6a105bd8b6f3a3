#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace puna::server {

// What a gzip stream of one member holds, which is `n_bytes` long. The stream is one of the
// program's own: another one ends the program.
std::string inflate(std::string_view gzip, size_t n_bytes);

}  // namespace puna::server
