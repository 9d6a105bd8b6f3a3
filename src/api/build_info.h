// What answers say of the program that made them.
#pragma once

#include <string_view>

namespace puna::api {

std::string_view build_info();  // "puna-0.1.0"

}  // namespace puna::api
