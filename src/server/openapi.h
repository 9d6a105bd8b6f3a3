// The interface as an OpenAPI document, made of the routes, what is said of their endpoints
// (api/description.h) and the tables of fields. Source: OpenAPI Specification 3.1.0.
#pragma once

#include <span>
#include <string_view>

#include "api/description.h"
#include "base/json.h"
#include "server/routes.h"

namespace puna::server {

// Of its endpoint, or of what the server answers by itself. Null: nothing is said of it.
const api::Description* description_of(const Route& route);

// `prefix`: in front of every path, may be empty. What has no effect, or is refused, says so as
// "x-puna-effect" (none, refused); each event or line of a stream is described by "x-puna-frame".
base::Json openapi(std::span<const Route> routes, std::string_view prefix);

}  // namespace puna::server
