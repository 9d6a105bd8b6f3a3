#include "api/errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::api {

using base::ErrorCode;
using base::Json;

namespace {

// "invalid_request_error", ...; OpenAI, llama-server and Anthropic share most of these words.
std::string_view type_of(Dialect dialect, int status) {
  const bool anthropic = dialect == Dialect::kAnthropic;
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return anthropic ? "request_too_large" : "invalid_request_error";
    case 429:
      return "rate_limit_error";
    case 501:
      return anthropic ? "api_error" : "not_supported_error";
    case 503:
      return anthropic ? "overloaded_error" : "unavailable_error";
    default:
      if (status >= 500) return anthropic ? "api_error" : "server_error";
      return "invalid_request_error";
  }
}

bool is_of_path(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\'' && c != ',' && c != ';' &&
         c != ')' && c != ':';
}

}  // namespace

std::string without_paths(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("http://") || text.substr(i).starts_with("https://")) {
      const size_t end = std::min(text.find_first_of(" \"'", i), text.size());
      out += text.substr(i, end - i);
      i = end;
      continue;
    }
    const bool begins = text[i] == '/' && (i == 0 || !is_of_path(text[i - 1]));
    if (!begins) {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_of_path(text[end])) ++end;
    std::string_view path = text.substr(i, end - i);
    i = end;
    const size_t last = path.find_last_of('/', path.find_last_not_of('/'));
    out += last == 0 || last == std::string_view::npos ? path : path.substr(last + 1);
  }
  return out;
}

base::Error no_such_model(Dialect dialect, std::string_view name, base::Error error) {
  constexpr size_t kLongest = 300;
  if (dialect != Dialect::kOllama) return error;
  return {ErrorCode::kNotFound,
          fmt::format("model \"{}\" not found, try pulling it first", name.substr(0, kLongest)),
          {}};
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kCancelled:  // by the server: a client that has left reads nothing
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kDeviceLost:
      return 503;
    case ErrorCode::kIo:
    case ErrorCode::kNetwork:
    case ErrorCode::kDevice:
    case ErrorCode::kSetUp:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

Json error_body(Dialect dialect, int status, std::string_view message) {
  Json inner = Json::object();
  const std::string_view type = type_of(dialect, status);
  switch (dialect) {
    case Dialect::kOpenAi:
      inner.set("message", message).set("type", type).set("param", nullptr).set("code", status);
      break;
    case Dialect::kLlama:
      inner.set("code", status).set("message", message).set("type", type);
      break;
    case Dialect::kAnthropic:
      inner.set("type", type).set("message", message);
      return Json::object().set("type", "error").set("error", std::move(inner));
    case Dialect::kOllama:
      return Json::object().set("error", message);
  }
  return Json::object().set("error", std::move(inner));
}

Json error_body(Dialect dialect, const base::Error& error) {
  Json out = error_body(dialect, status_of(error.code), error.text());
  if (!error.excess || (dialect != Dialect::kOpenAi && dialect != Dialect::kLlama)) return out;
  Json inner = *out.find("error");
  inner.set("type", "exceed_context_size_error");
  inner.set("n_prompt_tokens", error.excess->n).set("n_ctx", error.excess->n_room);
  return out.set("error", std::move(inner));
}

}  // namespace puna::api
