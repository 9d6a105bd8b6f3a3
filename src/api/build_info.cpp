#include "api/build_info.h"

namespace puna::api {

std::string_view build_info() { return "puna-" PUNA_VERSION; }

}  // namespace puna::api
