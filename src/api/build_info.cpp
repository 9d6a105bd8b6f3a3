#include "api/build_info.h"

namespace puna::api {

std::string_view version() { return PUNA_VERSION; }
std::string_view build_info() { return PUNA_BUILD_INFO; }

}  // namespace puna::api
