// What answers say of the program that made them.
#pragma once

#include <string_view>

namespace puna::api {

std::string_view version();  // "0.1.0"
// "b1234-0123abc", as clients of llama.cpp's server expect it (cmake/build_info.cmake).
std::string_view build_info();

}  // namespace puna::api
