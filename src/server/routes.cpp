#include "server/routes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "api/llama/tokens.h"
#include "api/openai/chat.h"
#include "api/openai/models.h"

namespace puna::server {
namespace {

using api::Dialect;

constexpr std::array kRoutes = {
    Route{"GET", "/health", Dialect::kLlama, Own::kHealth, ModelName::kNone, Key::kPublic},
    Route{"GET", "/v1/health", Dialect::kLlama, Own::kHealth, ModelName::kNone, Key::kPublic},
    Route{"GET", "/livez", Dialect::kLlama, Own::kLive, ModelName::kNone, Key::kPublic},
    Route{"GET", "/metrics", Dialect::kLlama, Own::kMetrics},
    Route{"GET", "/v1/loads", Dialect::kLlama, Own::kLoads},
    Route{"GET", "/v1/models", Dialect::kOpenAi, api::openai::models},
    Route{"GET", "/models", Dialect::kOpenAi, api::openai::models},
    Route{"GET", "/v1/models/{id...}", Dialect::kOpenAi, api::openai::model},
    Route{"POST", "/v1/chat/completions", Dialect::kOpenAi, api::openai::chat_completions,
          ModelName::kBody},
    Route{"POST", "/chat/completions", Dialect::kOpenAi, api::openai::chat_completions,
          ModelName::kBody},
    Route{"POST", "/v1/completions", Dialect::kOpenAi, api::openai::completions, ModelName::kBody},
    Route{"POST", "/tokenize", Dialect::kLlama, api::llama::tokenize, ModelName::kBody},
    Route{"POST", "/detokenize", Dialect::kLlama, api::llama::detokenize, ModelName::kBody},
};

// The values of the {…} when a path is of a pattern.
std::optional<std::vector<std::string>> match_path(std::string_view pattern,
                                                   std::span<const std::string> segments) {
  std::vector<std::string> values;
  pattern.remove_prefix(1);
  for (size_t i = 0;; ++i) {
    const size_t end = pattern.find('/');
    const std::string_view part = pattern.substr(0, end);
    const bool last = end == std::string_view::npos;
    if (i >= segments.size()) return {};
    if (part.starts_with('{')) {
      std::string value = segments[i];
      if (part.ends_with("...}")) {
        for (++i; i < segments.size(); ++i) value += "/" + segments[i];
        --i;
      }
      if (value.empty()) return {};
      values.push_back(std::move(value));
    } else if (part != segments[i]) {
      return {};
    }
    if (last) return i + 1 == segments.size() ? std::optional(std::move(values)) : std::nullopt;
    pattern.remove_prefix(end + 1);
  }
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Match find_route(std::span<const Route> routes, std::string_view method,
                 std::span<const std::string> segments) {
  Match out;
  std::vector<std::string_view> methods;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : routes) {
    auto values = match_path(route.path, segments);
    if (!values) continue;
    if (route.method == wanted) return {&route, *std::move(values), {}};
    if (std::ranges::find(methods, route.method) == methods.end()) methods.push_back(route.method);
  }
  if (methods.empty()) return out;
  for (const std::string_view each : methods)
    out.allow.append(each).append(each == "GET" ? ", HEAD, " : ", ");
  out.allow += "OPTIONS";
  return out;
}

api::Dialect dialect_of(std::string_view path) {
  if (path.starts_with("/api/")) return Dialect::kOllama;
  if (path.starts_with("/v1/messages")) return Dialect::kAnthropic;
  if (path.starts_with("/v1/")) return Dialect::kOpenAi;
  return Dialect::kLlama;
}

}  // namespace puna::server
