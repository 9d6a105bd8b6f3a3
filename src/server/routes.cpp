#include "server/routes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "api/anthropic/count_tokens.h"
#include "api/anthropic/messages.h"
#include "api/llama/apply_template.h"
#include "api/llama/completion.h"
#include "api/llama/embeddings.h"
#include "api/llama/infill.h"
#include "api/llama/lora.h"
#include "api/llama/props.h"
#include "api/llama/rerank.h"
#include "api/llama/router.h"
#include "api/llama/slots.h"
#include "api/llama/tokens.h"
#include "api/ollama/asked.h"
#include "api/ollama/chat.h"
#include "api/ollama/embed.h"
#include "api/ollama/generate.h"
#include "api/ollama/models.h"
#include "api/ollama/not_here.h"
#include "api/ollama/show.h"
#include "api/ollama/stored.h"
#include "api/ollama/version.h"
#include "api/openai/chat.h"
#include "api/openai/completions.h"
#include "api/openai/control.h"
#include "api/openai/embeddings.h"
#include "api/openai/models.h"
#include "api/openai/responses.h"
#include "api/openai/transcriptions.h"
#include "api/web/conversations.h"

namespace puna::server {
namespace {

using api::Dialect;
namespace anthropic = api::anthropic;
namespace llama = api::llama;
namespace ollama = api::ollama;
namespace openai = api::openai;
namespace web = api::web;

constexpr auto kQuery = ModelName::kQuery;
constexpr auto kBody = ModelName::kBody;

constexpr std::array kRoutes = {
    // What the server says of itself.
    Route{"GET", "/health", Dialect::kLlama, Own::kHealth, ModelName::kNone, Key::kPublic},
    Route{"GET", "/v1/health", Dialect::kLlama, Own::kHealth, ModelName::kNone, Key::kPublic},
    Route{"GET", "/livez", Dialect::kLlama, Own::kLive, ModelName::kNone, Key::kPublic},
    Route{"GET", "/metrics", Dialect::kLlama, Own::kMetrics, kQuery},
    Route{"GET", "/v1/loads", Dialect::kLlama, Own::kLoads},
    Route{"GET", "/openapi.json", Dialect::kLlama, Own::kOpenApi, ModelName::kNone, Key::kPublic},

    // OpenAI's interface.
    Route{"GET", "/v1/models", Dialect::kOpenAi, openai::models},
    Route{"GET", "/models", Dialect::kOpenAi, openai::models},
    Route{"GET", "/v1/models/{id...}", Dialect::kOpenAi, openai::model},
    Route{"POST", "/v1/chat/completions", Dialect::kOpenAi, openai::chat_completions, kBody},
    Route{"POST", "/chat/completions", Dialect::kOpenAi, openai::chat_completions, kBody},
    Route{"POST", "/v1/chat/completions/input_tokens", Dialect::kOpenAi, openai::chat_input_tokens,
          kBody},
    Route{"POST", "/chat/completions/input_tokens", Dialect::kOpenAi, openai::chat_input_tokens,
          kBody},
    Route{"POST", "/v1/chat/completions/control", Dialect::kOpenAi, openai::control_chat, kBody},
    Route{"POST", "/v1/responses", Dialect::kOpenAi, openai::responses, kBody},
    Route{"POST", "/responses", Dialect::kOpenAi, openai::responses, kBody},
    Route{"POST", "/v1/responses/input_tokens", Dialect::kOpenAi, openai::response_input_tokens,
          kBody},
    Route{"POST", "/responses/input_tokens", Dialect::kOpenAi, openai::response_input_tokens,
          kBody},
    Route{"POST", "/v1/completions", Dialect::kOpenAi, openai::completions, kBody},
    Route{"POST", "/v1/embeddings", Dialect::kOpenAi, openai::embeddings, kBody},
    Route{"POST", "/v1/audio/transcriptions", Dialect::kOpenAi, openai::transcriptions, kBody,
          Key::kNeeded, Effect::kReads, nullptr, /*form=*/true},
    Route{"POST", "/audio/transcriptions", Dialect::kOpenAi, openai::transcriptions, kBody,
          Key::kNeeded, Effect::kReads, nullptr, /*form=*/true},

    // Anthropic's.
    Route{"POST", "/v1/messages", Dialect::kAnthropic, anthropic::messages, kBody},
    Route{"POST", "/v1/messages/count_tokens", Dialect::kAnthropic, anthropic::count_tokens, kBody},

    // llama.cpp's.
    Route{"POST", "/completion", Dialect::kLlama, llama::completion, kBody},
    Route{"POST", "/completions", Dialect::kLlama, llama::completion, kBody},
    Route{"POST", "/infill", Dialect::kLlama, llama::infill, kBody},
    Route{"POST", "/embedding", Dialect::kLlama, llama::embeddings, kBody},
    Route{"POST", "/embeddings", Dialect::kLlama, llama::embeddings, kBody},
    Route{"POST", "/rerank", Dialect::kLlama, llama::rerank, kBody},
    Route{"POST", "/reranking", Dialect::kLlama, llama::rerank, kBody},
    Route{"POST", "/v1/rerank", Dialect::kLlama, llama::rerank, kBody},
    Route{"POST", "/v1/reranking", Dialect::kLlama, llama::rerank, kBody},
    Route{"POST", "/tokenize", Dialect::kLlama, llama::tokenize, kBody},
    Route{"POST", "/detokenize", Dialect::kLlama, llama::detokenize, kBody},
    Route{"POST", "/apply-template", Dialect::kLlama, llama::apply_template, kBody},
    Route{"POST", "/models", Dialect::kLlama, llama::download_model, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"DELETE", "/models", Dialect::kLlama, llama::remove_model, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"POST", "/models/load", Dialect::kLlama, llama::load_model, ModelName::kNone,
          Key::kNeeded, Effect::kChanges},
    Route{"POST", "/models/unload", Dialect::kLlama, llama::unload_model, ModelName::kNone,
          Key::kNeeded, Effect::kChanges},
    Route{"GET", "/models/sse", Dialect::kLlama, Streams::kModels},
    Route{"GET", "/props", Dialect::kLlama, llama::props, kQuery, Key::kNeeded, Effect::kReads,
          llama::props_before},
    Route{"POST", "/props", Dialect::kLlama, llama::change_props, kBody, Key::kNeeded,
          Effect::kChanges},
    Route{"GET", "/slots", Dialect::kLlama, llama::slots, kQuery},
    Route{"POST", "/slots/{id}", Dialect::kLlama, llama::change_slot, kBody, Key::kNeeded,
          Effect::kChanges},
    Route{"GET", "/lora-adapters", Dialect::kLlama, llama::lora_adapters, kQuery},
    Route{"POST", "/lora-adapters", Dialect::kLlama, llama::change_lora_adapters, kQuery,
          Key::kNeeded, Effect::kChanges},
    Route{"GET", "/tools", Dialect::kLlama, Own::kDisabled},
    Route{"POST", "/tools", Dialect::kLlama, Own::kDisabled},
    Route{"GET", "/cors-proxy", Dialect::kLlama, Own::kDisabled},
    Route{"POST", "/cors-proxy", Dialect::kLlama, Own::kDisabled},

    Route{"GET", "/v1/stream", Dialect::kLlama, Streams::kRead},
    Route{"DELETE", "/v1/stream", Dialect::kLlama, Streams::kStop, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"POST", "/v1/streams/lookup", Dialect::kLlama, Streams::kLookup},

    // The page's own.
    Route{"GET", "/web-store", Dialect::kLlama, web::read_rows},
    Route{"POST", "/web-store", Dialect::kLlama, web::change_rows, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"GET", "/web-store/files/{sha256}", Dialect::kLlama, web::read_file},
    Route{"POST", "/web-store/files", Dialect::kLlama, web::keep_file, ModelName::kNone,
          Key::kNeeded, Effect::kChanges, nullptr, /*form=*/true},

    // Ollama's.
    Route{"GET", "/", Dialect::kOllama, ollama::root, ModelName::kNone, Key::kPublic},
    Route{"GET", "/api/version", Dialect::kOllama, ollama::version},
    Route{"GET", "/api/status", Dialect::kOllama, ollama::status},
    Route{"GET", "/api/tags", Dialect::kOllama, ollama::tags},
    Route{"GET", "/api/ps", Dialect::kOllama, ollama::ps},
    Route{"POST", "/api/chat", Dialect::kOllama, ollama::chat, kBody, Key::kNeeded, Effect::kReads,
          ollama::unload},
    Route{"POST", "/api/generate", Dialect::kOllama, ollama::generate, kBody, Key::kNeeded,
          Effect::kReads, ollama::unload},
    Route{"POST", "/api/embed", Dialect::kOllama, ollama::embed, kBody},
    Route{"POST", "/api/embeddings", Dialect::kOllama, ollama::old_embed, kBody},
    Route{"POST", "/api/show", Dialect::kOllama, ollama::show},
    Route{"POST", "/api/create", Dialect::kOllama, ollama::create, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"POST", "/api/copy", Dialect::kOllama, ollama::copy, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"POST", "/api/pull", Dialect::kOllama, ollama::pull, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"POST", "/api/push", Dialect::kOllama, ollama::push, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"DELETE", "/api/delete", Dialect::kOllama, ollama::remove, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"GET", "/api/blobs/{digest}", Dialect::kOllama, ollama::blob},
    Route{"POST", "/api/blobs/{digest}", Dialect::kOllama, Uploads::kBlob, ModelName::kNone,
          Key::kNeeded, Effect::kChanges},
    Route{"POST", "/api/me", Dialect::kOllama, ollama::not_here},
    Route{"POST", "/api/signout", Dialect::kOllama, ollama::not_here},
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
