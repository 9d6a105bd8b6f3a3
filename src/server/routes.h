// The table of routes: which paths there are, in whose dialect, and what answers them. Aliases are
// rows. Read next: routes.cpp for the rows, api/exchange.h for what an endpoint is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/exchange.h"

namespace puna::server {

// Where a request names the model that it is for. kBody and kQuery: by "model"; one that is not
// there is the only model. kPath: by the first of the path's values.
enum class ModelName : uint8_t { kNone, kBody, kQuery, kPath };
enum class Key : uint8_t { kNeeded, kPublic };
enum class Effect : uint8_t { kReads, kChanges };  // whether something stays changed afterwards

// Answered by the server itself, from the head of a request (front.h). kDisabled is what clients
// look for and this server does not have.
enum class Own : uint8_t { kHealth, kLive, kMetrics, kLoads, kOpenApi, kDisabled };

// Of streams that are kept for clients that were cut off (stream_store.h).
// kModels: what becomes of models (model_events.h).
enum class Streams : uint8_t { kRead, kStop, kLookup, kModels };

// Whose body goes somewhere else as it comes (upload.h).
enum class Uploads : uint8_t { kBlob };

struct Route {
  std::string_view method;  // GET stands for HEAD too
  // "{id}" is one segment, "{id...}" one or more, to the end.
  std::string_view path;
  api::Dialect dialect = api::Dialect::kOpenAi;  // of errors
  std::variant<api::Endpoint, Own, Streams, Uploads> handler;
  ModelName model = ModelName::kNone;
  Key key = Key::kNeeded;
  Effect effect = Effect::kReads;
  // Asked before the model is looked for: what needs none. Null: nothing does.
  api::Before before = nullptr;
  bool form = false;  // its body is one with files (api/form_body.h), no JSON
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;          // null: nothing answers this method here
  std::vector<std::string> path_values;  // of the {…}
  std::string allow;                     // "GET, HEAD, OPTIONS"; empty: there is no such path
};
// `segments`: of the path, decoded.
Match find_route(std::span<const Route> routes, std::string_view method,
                 std::span<const std::string> segments);

// In which form errors of a path are that has no route.
api::Dialect dialect_of(std::string_view path);

}  // namespace puna::server
